/**
 * Tests crashes: starts the program, puts load on it, kills it with SIGKILL at a random moment, and
 * restarts it on the same database. On PostgreSQL, two processes run at the same time. At the end,
 * every answered request must be charged exactly once, every unanswered request at most once, and
 * all holds must be released. A request whose figures are all cached is charged with one commit.
 * Any other request needs two commits: one to hold credits and one to settle the hold.
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as Postgres from "./support/Postgres.ts"
import { type Program, programOn } from "./program.ts"
import { decodeBatch, postBatch } from "./support/postBatch.ts"
import { withVendor } from "./support/withVendor.ts"

interface Options {
  readonly rounds: number
  readonly database: "sqlite" | "postgres"
  /** The program's main file (default: the TypeScript sources). */
  readonly program?: string
}

interface Outcome {
  readonly kills: number
  /** The number of answered requests. Answers that were replayed are not counted. */
  readonly acknowledged: number
  /**
   * The number of answered requests without an idempotency key whose figures were all cached. Each
   * of these requests was charged with one commit.
   */
  readonly cachedWithoutKey: number
  /**
   * The number of answered requests with an idempotency key or with a host that was never requested
   * before. A request with such a new host needs two commits: to hold credits and to settle the
   * hold.
   */
  readonly keyedOrNew: number
  /** The number of requests that had no answer when their process of the service was killed. */
  readonly inFlight: number
  /** The number of requests that were charged although their client got no answer. */
  readonly unacknowledged: number
  /**
   * The number of requests that were charged without an answer to their client, and whose client
   * got the stored answer when it repeated the request.
   */
  readonly collected: number
  /**
   * The number of credits that were still held after the last round, when every process was killed.
   */
  readonly heldAtLast: number
}

const clientsPerProcess = 16
const requestTimeoutMs = 1000
/** The longest wait for the release of a killed process's holds: their lease, and a busy machine. */
const returnMs = requestTimeoutMs + 15_000 + 10_000

/** Runs the test. Throws when a charge is lost or doubled, or a hold is not released. */
export const crash = (options: Options): Promise<Outcome> =>
  withVendor("crash", async (vendor, folder) => {
    const server =
      options.database === "postgres" ? await Postgres.start({ durable: true }) : undefined
    try {
      const databaseUrl =
        server === undefined ? `sqlite:${join(folder, "authority.db")}` : `${server.url}/postgres`
      return await crashOn(databaseUrl, vendor.url, folder, options)
    } finally {
      await server?.destroy()
    }
  })

interface Request {
  readonly urls: ReadonlyArray<string>
  /** The idempotency key. Half of the clients send no key. */
  readonly key: string | undefined
}

/** One process of the program, from its start until it is killed. */
interface Life {
  readonly url: string
  /** The hosts whose figures are in the cache of the process, because it has answered with them. */
  readonly known: Set<string>
  isOver: boolean
}

const crashOn = async (
  databaseUrl: string,
  vendorUrl: string,
  folder: string,
  options: Options,
): Promise<Outcome> => {
  const program = programOn({
    cwd: folder,
    ...(options.program !== undefined && { main: options.program }),
    settings: {
      AUTHORITY_DATABASE_URL: databaseUrl,
      ...FakeMoz.settings(vendorUrl),
      AUTHORITY_REQUEST_TIMEOUT: `${requestTimeoutMs}ms`,
    },
  })
  const clients = new Clients(await program.newKey("load"))
  const processes = options.database === "postgres" ? 2 : 1
  for (let round = 0; round < options.rounds; round++) {
    const isLast = round === options.rounds - 1
    await Promise.all(Array.from({ length: processes }, () => live(program, clients, isLast)))
  }

  const heldAtLast = await program.held("load")
  const running = await program.serve()
  let collected = 0
  try {
    await heldIsReturned(program, returnMs)
    // Send the unanswered requests again, with their idempotency keys. No hold owns these keys any
    // more, so the service charges each request or replays its stored answer.
    for (const request of clients.inFlight.filter(({ key }) => key !== undefined)) {
      const { creditsUsed, isReplay } = await clients.send(running.url, request)
      if (isReplay && creditsUsed > 0) collected++
    }
  } finally {
    await running.kill()
  }
  return {
    kills: options.rounds * processes,
    acknowledged: clients.acknowledged.size,
    cachedWithoutKey: clients.cachedWithoutKey,
    keyedOrNew: clients.keyedOrNew,
    inFlight: clients.inFlight.length,
    unacknowledged: unacknowledged(await program.charges("load"), clients, collected),
    collected,
    heldAtLast,
  }
}

/** Puts load on a new process, and kills the process. */
const live = async (program: Program, clients: Clients, isLast: boolean) => {
  const running = await program.serve()
  const life: Life = { url: running.url, known: new Set(), isOver: false }
  const load = Promise.all(
    Array.from({ length: clientsPerProcess }, (_, index) => clients.run(index, life)),
  )
  // Kill the process at a random moment, while requests are in flight.
  await Promise.race([load, sleep(50 + Math.random() * 1500)])
  // In the last round, continue until requests of both kinds were answered.
  while (isLast && (clients.cachedWithoutKey === 0 || clients.keyedOrNew === 0))
    await Promise.race([load, sleep(20)])
  life.isOver = true
  await running.kill()
  await load
}

/** The clients of all processes, and what they know of their requests. */
class Clients {
  /** Maps the id of each answered request to its `creditsUsed`. Replayed answers are left out. */
  readonly acknowledged = new Map<string, number>()
  /** The requests that had no answer yet when their process of the service was killed. */
  readonly inFlight: Array<Request> = []
  cachedWithoutKey = 0
  keyedOrNew = 0
  private readonly apiKey: string

  constructor(apiKey: string) {
    this.apiKey = apiKey
  }

  async send(url: string, { key, urls }: Request) {
    const response = await postBatch(url, this.apiKey, urls, key)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const { creditsUsed } = decodeBatch(text).quota
    const isReplay = response.headers.get("idempotent-replayed") === "true"
    if (!isReplay) this.acknowledged.set(response.headers.get("x-request-id") ?? "", creditsUsed)
    return { isReplay, creditsUsed }
  }

  /** Sends one request after the other until the life is over. */
  async run(index: number, life: Life) {
    for (let i = 0; !life.isOver; i++) {
      const urls = Array.from({ length: 1 + (i % 3) }, (_, n) => `site-${n}.example.com`)
      const request: Request = {
        urls: i % 8 === 7 ? [...urls, `new-${randomUUID()}.example.com`] : urls,
        key: index % 2 === 0 ? randomUUID() : undefined,
      }
      try {
        await this.ask(life, request)
      } catch (error) {
        if (error instanceof assert.AssertionError || !life.isOver) throw error
        this.inFlight.push(request)
      }
    }
  }

  /** Sends a request. Once it is answered, counts it, unless it is of neither kind. */
  private async ask(life: Life, request: Request) {
    const isKnown = request.urls.every((host) => life.known.has(host))
    const isNew = request.urls.some((host) => host.startsWith("new-"))
    const { creditsUsed } = await this.send(life.url, request)
    if (request.key !== undefined || isNew) this.keyedOrNew++
    else if (isKnown) this.cachedWithoutKey++
    if (creditsUsed === request.urls.length) request.urls.forEach((host) => life.known.add(host))
  }
}

/** Returns how many charges no client knows of. Throws when a charge is lost, doubled or too many. */
const unacknowledged = (
  charges: ReadonlyArray<readonly [requestId: string, credits: number]>,
  { acknowledged, inFlight }: Clients,
  collected: number,
) => {
  const charged = new Map(charges)
  assert.equal(charged.size, charges.length, "a request was charged twice")
  for (const [requestId, credits] of acknowledged) {
    // The account's statement has no charge for an answer that cost 0 credits. All URLs of such an
    // answer failed.
    assert.equal(
      charged.get(requestId) ?? 0,
      credits,
      `the answer of request ${requestId} said ${credits} credits`,
    )
  }
  const paid = [...acknowledged.values()].filter((credits) => credits > 0)
  const count = charged.size - paid.length
  const unnamed = inFlight.filter(({ key }) => key === undefined).length
  assert(count >= collected, "a repeat got an answer that was not charged")
  assert(count <= collected + unnamed, "more requests were charged than were in flight")
  return count
}

const heldIsReturned = async (program: Program, withinMs: number) => {
  const end = performance.now() + withinMs
  for (;;) {
    const held = await program.held("load")
    if (held === 0) return
    assert(performance.now() < end, `${held} credits of killed processes are still held`)
    await sleep(500)
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "200" },
      database: { type: "string", default: "sqlite" },
    },
  })
  const { database } = values
  if (database !== "sqlite" && database !== "postgres") {
    throw new Error("--database is sqlite or postgres")
  }
  const outcome = await crash({ rounds: Number(values.rounds), database })
  console.log(`${database}: nothing is lost`, outcome)
}
