/**
 * One round of `scripts/claims.ts`: 800 concurrent requests for 40 new hosts, half of them to each
 * of two replicas. Counts the rows that the vendor sells.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FakeMoz from "./support/FakeMoz.ts"
import type * as FakeVendor from "./support/FakeVendor.ts"
import { decodeBatch, postBatch } from "./support/postBatch.ts"

export const hostsOfRound = 40
const requestsToEach = 400

interface Replica {
  readonly url: string
  /** Ends the process with SIGKILL. */
  readonly kill: () => Promise<void>
}

interface Round {
  readonly vendor: Vendor
  readonly apiKey: string
  /** The replicas, whose calls reach the vendor at the addresses of `settingsOf`. */
  readonly replicas: readonly [Replica, Replica]
  /** Kills the second replica while the vendor works on its first call. */
  readonly isKill?: boolean
}

export interface Figures {
  readonly rows: number
  /** The rows of the calls that the killed replica had in flight. */
  readonly inFlight: number
  /** The requests to replicas that were not killed, and that did not get all figures. */
  readonly failed: number
  /** The longest time to an answer of such a replica. */
  readonly slowestMs: number
}

/** The settings of the replica with this index, so that the vendor tells the replicas apart. */
export const settingsOf = ({ moz }: Vendor, index: number) =>
  FakeMoz.settings(`${moz.url}?replica=${index}`)

interface Call {
  readonly path: string
  readonly rows: number
  answeredAt: number
}

type Vendor = ReturnType<typeof watched>

/** Makes a vendor answer after 20 to 120 ms, and watches its calls. */
export const watched = (moz: Effect.Effect.Success<typeof FakeMoz.make>) => {
  const calls: Array<Call> = []
  const listeners = new Set<(call: Call) => void>()
  const slow: FakeVendor.Fault = {
    name: "a slow answer",
    apply: (response, reply, { json, url }) => {
      const call = { path: url, rows: rowsOf(json), answeredAt: Number.POSITIVE_INFINITY }
      calls.push(call)
      for (const listener of listeners) listener(call)
      setTimeout(
        () => {
          call.answeredAt = performance.now()
          response.writeHead(reply.status, { "content-type": "application/json" }).end(reply.body)
        },
        20 + Math.random() * 100,
      )
    },
  }
  moz.always(slow)
  return { moz, calls, listeners }
}

const rowsOf = (json: unknown) => decodeQueries(json).params.data.site_queries.length

const decodeQueries = Schema.decodeUnknownSync(
  Schema.Struct({
    params: Schema.Struct({
      data: Schema.Struct({
        site_queries: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] }),
      }),
    }),
  }),
)

/** Runs a round. Each request is for one to five of the hosts. */
export const runRound = async ({
  apiKey,
  isKill = false,
  replicas,
  vendor,
}: Round): Promise<Figures> => {
  const before = vendor.moz.rows()
  const id = randomUUID()
  const hostOf = (i: number) => `${i % hostsOfRound}.${id}.example.com`
  const urlsOf = (i: number) =>
    Array.from({ length: 1 + (i % 5) }, (_, n) => hostOf(i + n * (1 + (i % 7))))
  const askAll = ({ url }: Replica) =>
    Promise.all(Array.from({ length: requestsToEach }, (_, i) => ask(url, apiKey, urlsOf(i))))

  const [first, second] = replicas
  const hasCall = isKill ? firstCall(vendor) : undefined
  const ofSecond = askAll(second)
  // The replica that is to be killed begins, so that it surely makes a call.
  if (isKill) await Promise.race([hasCall, ofSecond])
  const ofFirst = askAll(first)
  const killedAt = isKill ? await killIn(second) : Number.POSITIVE_INFINITY
  const all = [...(await ofFirst), ...(isKill ? [] : await ofSecond)]
  return {
    rows: vendor.moz.rows() - before,
    inFlight: rowsInFlight(vendor, killedAt),
    failed: all.filter(({ isWhole }) => !isWhole).length,
    slowestMs: Math.max(...all.map(({ ms }) => ms)),
  }
}

const ask = async (url: string, apiKey: string, urls: ReadonlyArray<string>) => {
  const sentAt = performance.now()
  let isWhole = false
  try {
    const response = await postBatch(url, apiKey, urls)
    const body = await response.text()
    isWhole = response.status === 200 && decodeBatch(body).data.successUrls.length === urls.length
  } catch {
    // The replica was killed. `failed` counts the request if it was not.
  }
  return { isWhole, ms: performance.now() - sentAt }
}

/** A call that ended so shortly before the kill has perhaps not stored its figures. */
const storeMs = 300

const isOfSecond = ({ path, rows }: Call) => path.endsWith("=1") && rows > 0

/** Waits for the first call of the second replica. */
const firstCall = ({ listeners }: Vendor) =>
  new Promise<void>((resolve) => {
    const listener = (call: Call) => {
      if (!isOfSecond(call)) return
      listeners.delete(listener)
      resolve()
    }
    listeners.add(listener)
  })

/** Kills the second replica within 100 ms. Returns the time at which it was killed. */
const killIn = async (replica: Replica) => {
  await sleep(Math.random() * 100)
  const killedAt = performance.now()
  await replica.kill()
  return killedAt
}

/**
 * Returns the rows of the calls that the second replica had in flight at a time. Call it at the end
 * of a round: the vendor may read the last calls of a killed replica only after its end.
 */
const rowsInFlight = ({ calls }: Vendor, time: number) =>
  calls
    .filter((call) => isOfSecond(call) && call.answeredAt > time - storeMs)
    .reduce((sum, { rows }) => sum + rows, 0)
