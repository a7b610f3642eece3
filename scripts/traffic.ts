/**
 * The load generator of the tests that kill or suspend something: concurrent clients with the retry
 * rules of the service's own client, on one or more replicas. `tally` tells whether each request was
 * charged exactly once.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { decodeBatch, postBatch } from "./support/postBatch.ts"

interface Options {
  /** The addresses of the replicas at present. Successive requests go to the replicas in turn. */
  readonly urls: ReadonlyArray<string>
  readonly apiKey: string
  readonly clients: number
  /**
   * The host that the request checks. By default, half of the requests check a host that no earlier
   * request has checked.
   */
  readonly host?: (index: number) => string
  /** How long a client waits between two requests, in milliseconds (default: 0). */
  readonly pauseMs?: number
  /** How long a client retries one request, in milliseconds (default: 30 seconds). */
  readonly patienceMs?: number
  /** Returns true to send another request. `sent` is the number of requests so far. */
  readonly goesOn: (sent: number) => boolean
}

/** The result of one request with all its attempts. */
export interface Outcome {
  /** True when the request has an idempotency key, as every other request has. */
  readonly isNamed: boolean
  /** The status of each attempt; 0 when no answer came. */
  readonly statuses: ReadonlyArray<number>
  /** The request ids that the service gave to the attempts. */
  readonly requestIds: ReadonlyArray<string>
  /** The credits that the last attempt used; undefined when the last attempt failed. */
  readonly creditsUsed: number | undefined
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
      outcomes.push(await ask(options, sent++))
      if (options.pauseMs !== undefined) await sleep(options.pauseMs)
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
  return outcomes
}

const halfNew = (index: number) => (index % 4 < 2 ? `site-${index % 40}` : `new-${randomUUID()}`)

const ask = async (
  { apiKey, host = halfNew, patienceMs = 30_000, urls }: Options,
  index: number,
): Promise<Outcome> => {
  const target = `${host(index)}.example.com`
  const key = index % 2 === 0 ? randomUUID() : undefined
  const statuses: Array<number> = []
  const requestIds: Array<string> = []
  const sentAt = performance.now()
  for (;;) {
    const attempt = index + statuses.length
    const url = urls[attempt % urls.length] ?? ""
    const answer = await answered(postBatch(url, apiKey, [target], key))
    statuses.push(answer.status)
    if (answer.requestId !== null) requestIds.push(answer.requestId)
    const mayRepeat = key !== undefined && (answer.status === 0 || answer.status >= 500)
    const waitMs = answer.waitMs ?? (mayRepeat ? 1000 : undefined)
    const answeredAt = performance.now()
    if (waitMs === undefined || answeredAt + waitMs > sentAt + patienceMs) {
      const { creditsUsed, text: said } = answer
      const isNamed = key !== undefined
      return { isNamed, statuses, requestIds, creditsUsed, said, sentAt, answeredAt }
    }
    await sleep(waitMs)
  }
}

const answered = async (sent: Promise<Response>) => {
  try {
    const response = await sent
    const text = await response.text()
    const { headers, status } = response
    const after = headers.get("retry-after")
    return {
      status,
      text,
      requestId: headers.get("x-request-id"),
      creditsUsed: status === 200 ? decodeBatch(text).quota.creditsUsed : undefined,
      waitMs: after === null ? undefined : Number(after) * 1000,
    }
  } catch (error) {
    const nothing = { requestId: null, creditsUsed: undefined, waitMs: undefined }
    return { ...nothing, status: 0, text: String(error) }
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
  /** Requests that were charged, but not answered with 200. */
  readonly unacknowledged: number
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
  const failures: Record<string, number> = {}
  let [acknowledged, lost, doubled, unacknowledged, atOnce] = [0, 0, 0, 0, 0]
  for (const { creditsUsed, requestIds, statuses } of outcomes) {
    const own = requestIds.flatMap((id) => byRequest.get(id) ?? [])
    const charged = own.reduce((sum, [, credits]) => sum + credits, 0)
    if (own.length > 1 || charged > (creditsUsed ?? charged)) doubled++
    if (charged < (creditsUsed ?? 0)) lost++
    if (creditsUsed === undefined && charged > 0) unacknowledged++
    if (creditsUsed !== undefined) acknowledged++
    if (statuses.length === 1 && creditsUsed !== undefined) atOnce++
    for (const status of statuses) {
      if (status !== 200) failures[status] = (failures[status] ?? 0) + 1
    }
  }
  const charged = charges.length
  return { acknowledged, charged, lost, doubled, unacknowledged, atOnce, failures }
}
