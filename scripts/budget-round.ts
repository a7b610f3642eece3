/**
 * One round of `scripts/budgets.ts`: concurrent clients spend the budget of one key, over HTTP only.
 * Each request is for one URL, which costs one credit when its figures are found.
 */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import * as Schema from "effect/Schema"
import { decodeBatch, postBatch } from "./support/postBatch.ts"

export interface Round {
  /** The addresses of the replicas at present. Successive requests go to them in turn. */
  readonly urls: () => ReadonlyArray<string>
  readonly apiKey: string
  /** Kills a replica and starts it again, in the middle of the round. Resolves when it is back. */
  readonly kill?: () => Promise<void>
}

/** What happened to the credits of the key in one round. */
export interface Figures {
  readonly spent: number
  /** The credits of the answers that clients got. */
  readonly expected: number
  /** Requests without an idempotency key that were lost: each was charged one credit or none. */
  readonly unknown: number
  /** Credits above the budget, and charges for which no client got anything. */
  readonly overspent: number
  /** Refusals of a request for which there was room, and credits that could not be spent. */
  readonly refused: number
  /** Credits that stayed used although nothing was charged for them. */
  readonly leaked: number
  /** From the kill to the answers of all clients, with no credits held; undefined without a kill. */
  readonly healMs: number | undefined
}

const clients = 500
/** How long a client repeats a request, and how long leaked holds have to end, in milliseconds. */
const patienceMs = 60_000

interface Attempt {
  readonly sentAt: number
  readonly answeredAt: number
  /** 0 when no answer came. */
  readonly status: number
  readonly credits: number
  /** Why the budget refused the request: it is spent, or held by running requests. */
  readonly limit: "spent" | "held" | undefined
  readonly waitMs: number | undefined
  /** True when it is unknown what the service did with the request. */
  readonly isLost: boolean
}

/** One request, with all its attempts. */
type Attempts = ReadonlyArray<Attempt>

/** Uses up what is left of the key's budget, and returns what happened to its credits. */
export const runRound = async (round: Round): Promise<Figures> => {
  const before = await readKey(round)
  const budget = before.used + before.remaining
  const { healedAt, killedAt, requests } = await crowd(round, before.used)
  const rest = await spendRest(round, budget)
  const after = await readKey(round)
  const all = [...requests, ...rest]
  const expected = creditsOf(all)
  const unknown = all.filter(isUnknown).length
  const lastHeld = rest.flat().findLast(({ limit }) => limit === "held")
  return {
    spent: after.used - before.used,
    expected,
    unknown,
    overspent: Math.max(0, before.used + expected - budget, after.used - budget),
    refused: refusedOf(all, before.remaining) + Math.max(0, budget - after.used),
    leaked: Math.max(0, after.used - before.used - expected - unknown),
    healMs: killedAt && (lastHeld?.answeredAt ?? healedAt) - killedAt,
  }
}

/** Sends the concurrent requests, and waits until nothing is used but what was charged. */
const crowd = async (round: Round, usedBefore: number) => {
  let answered = 0
  let killedAt: number | undefined
  let restarted: Promise<void> | undefined
  const onAnswer = () => {
    if (round.kill === undefined || ++answered !== 150) return
    killedAt = performance.now()
    restarted = round.kill()
    // A failed start is reported below, after the requests.
    restarted.catch(() => {})
  }
  const requests = await Promise.all(
    Array.from({ length: clients }, (_, index) => {
      const host = `${index % 4 < 2 ? "fails" : "works"}-${randomUUID()}.example.com`
      return ask(round, { index, host, isNamed: index % 2 === 0, onAnswer })
    }),
  )
  await restarted
  const most = usedBefore + creditsOf(requests) + requests.filter(isUnknown).length
  const end = performance.now() + patienceMs
  while ((await readKey(round)).used > most && performance.now() < end) await sleep(100)
  return { requests, killedAt, healedAt: performance.now() }
}

/** Sends one request after the other until the budget refuses one. */
const spendRest = async (round: Round, budget: number) => {
  const rest: Array<Attempts> = []
  for (let index = 0; index <= budget; index++) {
    const host = `works-${randomUUID()}.example.com`
    const attempts = await ask(round, { index, host, isNamed: false, onAnswer: () => {} })
    rest.push(attempts)
    if (attempts.at(-1)?.limit !== undefined) break
  }
  return rest
}

interface Request {
  readonly index: number
  readonly host: string
  readonly isNamed: boolean
  readonly onAnswer: () => void
}

/** Sends a request, and repeats it as long as a client may. */
const ask = async (
  round: Round,
  { host, index, isNamed, onAnswer }: Request,
): Promise<Attempts> => {
  const key = isNamed ? randomUUID() : undefined
  const attempts: Array<Attempt> = []
  const end = performance.now() + patienceMs
  for (;;) {
    const urls = round.urls()
    // Four successive requests are of all kinds, and go to the same replica.
    const url = urls[(Math.floor(index / 4) + attempts.length) % urls.length] ?? ""
    const attempt = await answered(postBatch(url, round.apiKey, [host], key))
    attempts.push(attempt)
    onAnswer()
    const { isLost, limit, status } = attempt
    const isOver = status === 200 || limit === "spent" || (isLost && !isNamed)
    if (isOver || performance.now() > end) return attempts
    await sleep(attempt.waitMs ?? 500)
  }
}

const answered = async (sent: Promise<Response>): Promise<Attempt> => {
  const sentAt = performance.now()
  const nothing = { sentAt, credits: 0, limit: undefined, waitMs: undefined }
  try {
    const response = await sent
    const text = await response.text()
    const { headers, status } = response
    assert([200, 402, 409, 429, 500, 502, 503, 504].includes(status), `${status}: ${text}`)
    assert(headers.get("x-limit") !== "balance", "the account has too few credits")
    const after = headers.get("retry-after")
    return {
      ...nothing,
      answeredAt: performance.now(),
      status,
      credits: status === 200 ? decodeBatch(text).quota.creditsUsed : 0,
      ...(status === 402 && { limit: after === null ? "spent" : "held" }),
      waitMs: after === null ? undefined : Number(after) * 1000,
      isLost: status === 500,
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    const isLost = !isRefusedConnection(error)
    return { ...nothing, answeredAt: performance.now(), status: 0, isLost }
  }
}

const isRefusedConnection = Schema.is(
  Schema.Struct({ cause: Schema.Struct({ code: Schema.Literal("ECONNREFUSED") }) }),
)

const creditsOf = (requests: ReadonlyArray<Attempts>) =>
  requests.flat().reduce((sum, { credits }) => sum + credits, 0)

/** True when the request was perhaps charged, but its client cannot know. */
const isUnknown = (attempts: Attempts) =>
  attempts.some(({ isLost }) => isLost) &&
  attempts.at(-1)?.status !== 200 &&
  attempts.at(-1)?.limit !== "spent"

/**
 * Counts the refusals for which there was room, whatever happened to the other requests. A refusal
 * because the budget is spent is right when charges for it can have been made before its answer. A
 * refusal because credits are held is also right when they can be held for running or lost requests.
 */
const refusedOf = (requests: ReadonlyArray<Attempts>, room: number) =>
  requests.flat().filter((refusal) => {
    if (refusal.limit === undefined) return false
    const taken = requests.filter((attempts) => {
      const earlier = attempts.filter(
        (attempt) => attempt !== refusal && attempt.sentAt < refusal.answeredAt,
      )
      const mayCharge = earlier.some(({ isLost, status }) => status === 200 || isLost)
      if (mayCharge && (creditsOf([attempts]) > 0 || isUnknown(attempts))) return true
      return (
        refusal.limit === "held" &&
        earlier.some(({ answeredAt, isLost }) => isLost || answeredAt > refusal.sentAt)
      )
    })
    return taken.length < room
  }).length

const readKey = async ({ apiKey, urls }: Round) => {
  const response = await fetch(`${urls()[0]}/v1/key`, { headers: { "x-api-key": apiKey } })
  const { budget } = decodeKey(await response.json()).data
  return budget
}

/** Only the two numbers that another service can show, too. */
const decodeKey = Schema.decodeUnknownSync(
  Schema.Struct({
    data: Schema.Struct({
      budget: Schema.Struct({ used: Schema.Int, remaining: Schema.Int }),
    }),
  }),
)
