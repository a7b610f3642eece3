/**
 * The load generator of the tests that kill or suspend something: concurrent clients with the retry
 * rules of the service's own client, on one or more replicas. `tally` tells whether each request was
 * charged exactly once.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { decodeBatch, postBatch } from "./support/postBatch.ts"

interface Options {
  /** The current addresses of the replicas. Successive requests go to the replicas in turn. */
  readonly urls: ReadonlyArray<string>
  readonly apiKey: string
  readonly clients: number
  /**
   * The URLs that the request checks. By default, half of the requests check a host that no earlier
   * request has checked.
   */
  readonly targets?: (index: number) => ReadonlyArray<string>
  /** How long a client waits between two requests, in milliseconds (default: 0). */
  readonly pauseMs?: number
  /** How long a client retries one request, in milliseconds (default: 30 seconds). */
  readonly patienceMs?: number
  /** Returns true to send another request. `sent` is the number of requests so far. */
  readonly goesOn: (sent: number) => boolean
  readonly onOutcome?: (outcome: Outcome) => void
}

export interface Outcome {
  readonly targets: ReadonlyArray<string>
  /** The idempotency key, which every other request has. */
  readonly key: string | undefined
  /** The status of each attempt; 0 when no answer came. */
  readonly statuses: ReadonlyArray<number>
  /** The request ids that the service gave to the attempts. */
  readonly requestIds: ReadonlyArray<string>
  /** The credits that the last attempt used; undefined when the last attempt failed. */
  readonly creditsUsed: number | undefined
  /** True when the last answer was the stored answer to an earlier attempt. */
  readonly isReplay: boolean
  /** The body of the last answer, or the error of the last attempt. */
  readonly said: string
  readonly sentAt: number
  readonly answeredAt: number
}

/** Sends requests until `goesOn` returns false. Resolves when every request has its outcome. */
export const run = async (options: Options): Promise<ReadonlyArray<Outcome>> => {
  const outcomes: Array<Outcome> = []
  let sent = 0
  const client = async () => {
    while (options.goesOn(sent)) {
      const outcome = await ask(options, sent++)
      outcomes.push(outcome)
      options.onOutcome?.(outcome)
      if (options.pauseMs !== undefined) await sleep(options.pauseMs)
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
  return outcomes
}

const halfNew = (index: number) => [
  `${index % 4 < 2 ? `site-${index % 40}` : `new-${randomUUID()}`}.example.com`,
]

const ask = async (
  { apiKey, patienceMs = 30_000, targets: targetsOf = halfNew, urls }: Options,
  index: number,
): Promise<Outcome> => {
  const targets = targetsOf(index)
  const key = index % 2 === 0 ? randomUUID() : undefined
  const statuses: Array<number> = []
  const requestIds: Array<string> = []
  const sentAt = performance.now()
  for (;;) {
    const attempt = index + statuses.length
    const url = urls[attempt % urls.length] ?? ""
    const { requestId, status, waitMs, ...last } = await answered(
      postBatch(url, apiKey, targets, key),
    )
    statuses.push(status)
    if (requestId !== null) requestIds.push(requestId)
    const mayRepeat = key !== undefined && (status === 0 || status >= 500)
    const pauseMs = waitMs ?? (mayRepeat ? 1000 : undefined)
    const answeredAt = performance.now()
    if (pauseMs === undefined || answeredAt + pauseMs > sentAt + patienceMs) {
      return { targets, key, statuses, requestIds, sentAt, answeredAt, ...last }
    }
    await sleep(pauseMs)
  }
}

const answered = async (sent: Promise<Response>) => {
  try {
    const response = await sent
    const said = await response.text()
    const { headers, status } = response
    const after = headers.get("retry-after")
    return {
      status,
      said,
      requestId: headers.get("x-request-id"),
      creditsUsed: status === 200 ? decodeBatch(said).quota.creditsUsed : undefined,
      isReplay: headers.get("idempotent-replayed") === "true",
      waitMs: after === null ? undefined : Number(after) * 1000,
    }
  } catch (error) {
    // A request that no process takes was not sent, so it may be repeated without a key.
    const isRefused = error instanceof TypeError && String(error.cause).includes("ECONNREFUSED")
    return {
      status: 0,
      said: String(error),
      requestId: null,
      creditsUsed: undefined,
      isReplay: false,
      waitMs: isRefused ? 100 : undefined,
    }
  }
}

/** Numbers of requests by outcome, compared with the charges in the account's statement. */
export interface Tally {
  /** Requests that were answered with 200. */
  readonly acknowledged: number
  /** Charges in the account's statement. */
  readonly charged: number
  /** Requests that were answered with 200, but charged less than the answer says. */
  readonly lost: number
  /** Requests that were charged more than once, or more than their answer says. */
  readonly doubled: number
  /**
   * Charges without an answer of 200. The charge of a request whose answer never arrived has an id
   * that no client knows.
   */
  readonly unacknowledged: number
  /** Requests that were not answered with 200. */
  readonly unanswered: number
  /** Requests whose charge was made without an answer, and whose repeat got the stored answer. */
  readonly collected: number
  /** Requests that were answered with 200 at the first attempt. */
  readonly atOnce: number
  /** Attempts by failing status. `{ "503": 2 }` means that two attempts got a 503. */
  readonly failures: Readonly<Record<string, number>>
}

/**
 * Counts the requests by outcome. `charges` lists the charges in the account's statement, each with
 * the id of the charged request and the credits.
 */
export const tally = (
  outcomes: ReadonlyArray<Outcome>,
  charges: ReadonlyArray<readonly [requestId: string, credits: number]>,
): Tally => {
  const byRequest = Map.groupBy(charges, ([requestId]) => requestId)
  const knownIds = new Set(outcomes.flatMap(({ requestIds }) => requestIds))
  const unknown = charges.filter(([id]) => !knownIds.has(id)).map(([, credits]) => credits)
  const failures: Record<string, number> = {}
  let [acknowledged, lost, doubled, collected, atOnce, unanswered] = [0, 0, 0, 0, 0, 0]
  let unacknowledged = unknown.length
  for (const { creditsUsed, isReplay, requestIds, statuses } of outcomes) {
    const own = requestIds.flatMap((id) => byRequest.get(id) ?? [])
    const charged = own.reduce((sum, [, credits]) => sum + credits, 0)
    // The first attempt was charged, and its id was lost with its answer.
    const lostId = isReplay && charged === 0 ? unknown.indexOf(creditsUsed ?? 0) : -1
    if (lostId >= 0) {
      unknown.splice(lostId, 1)
      collected++
      unacknowledged--
    } else if (charged < (creditsUsed ?? 0)) lost++
    if (own.length > 1 || charged > (creditsUsed ?? charged)) doubled++
    if (creditsUsed === undefined) {
      unanswered++
      if (charged > 0) unacknowledged++
    } else {
      acknowledged++
      if (statuses.length === 1) atOnce++
    }
    for (const status of statuses) {
      if (status !== 200) failures[status] = (failures[status] ?? 0) + 1
    }
  }
  return {
    acknowledged,
    charged: charges.length,
    lost,
    doubled,
    unacknowledged,
    unanswered,
    collected,
    atOnce,
    failures,
  }
}
