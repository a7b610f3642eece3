/** Checks a list of any length, and pays each target once. */
import { v4 as uuid } from "uuid"
import { maxUrls } from "../contract/Limits.ts"
import { ValidationError } from "./ClientError.ts"
import { mapInOrder } from "./mapInOrder.ts"
import { type CheckResult, invalid, type Outcome, unsent } from "./Outcomes.ts"
import type { AuthorityMetrics, CheckAllOptions } from "./Client.ts"
import * as Signal from "./Signal.ts"
import { type Entry, judging } from "./Targets.ts"

export async function* checkAll(
  client: Pick<AuthorityMetrics, "check" | "preview">,
  urls: Iterable<string> | AsyncIterable<string>,
  options: CheckAllOptions = {},
): AsyncGenerator<CheckResult, void> {
  const { concurrency = 4, idempotencyKey = uuid(), onProgress, signal } = options
  const { maxAgeSeconds, provenance = false } = options
  const ended = Signal.following(signal)
  const batches = batchesOf(urls)
  const next = () => Signal.orAborted(batches.next(), ended.signal)
  const judge = judging(client)
  const outcomes = new Map<string, Promise<Outcome | undefined>>()

  /** Sends the targets that no earlier batch had. `earlier` resolves when those are known. */
  const checkBatch = async (batch: ReadonlyArray<string>, i: number, earlier: Promise<unknown>) => {
    const { entries } = await judge(batch, { signal: ended.signal })
    await earlier
    const fresh = new Map<string, string>()
    for (const entry of entries) {
      if ("problem" in entry || outcomes.has(entry.target) || fresh.has(entry.target)) continue
      fresh.set(entry.target, entry.url)
    }
    const sent =
      fresh.size === 0
        ? Promise.resolve(unsent([]))
        : client.check([...fresh.values()], {
            idempotencyKey: `${idempotencyKey}-${i}`,
            maxAgeSeconds,
            provenance,
            signal: ended.signal,
          })
    ;[...fresh.keys()].forEach((target, place) => {
      const outcome = sent.then(({ outcomes }) => outcomes[place])
      // The batch that sent the target throws its error.
      outcome.catch(() => undefined)
      outcomes.set(target, outcome)
    })
    return { entries, sent }
  }

  let earlier: Promise<unknown> = Promise.resolve()
  const results = mapInOrder({ next }, concurrency, async (batch, i): Promise<CheckResult> => {
    const checked = checkBatch(batch, i, earlier)
    earlier = checked
    const { entries, sent } = await checked
    const result = await sent
    const found = await Promise.all(entries.map((entry) => outcomeOf(entry, outcomes, provenance)))
    return { ...result, outcomes: found }
  })
  const progress = { outcomes: 0, creditsUsed: 0 }
  try {
    for await (const result of results) {
      yield result
      progress.outcomes += result.outcomes.length
      progress.creditsUsed += result.creditsUsed
      onProgress?.({ ...progress })
    }
  } finally {
    ended.forget()
    ended.abort(new Error("The caller stopped reading the results."))
    // Ends the iteration of `urls`, so that a generator can release its resources. Do not await
    // the end: a generator that waits for its next URL may never end.
    batches.return().catch(() => undefined)
  }
}

const outcomeOf = async (
  entry: Entry,
  outcomes: ReadonlyMap<string, Promise<Outcome | undefined>>,
  provenance: boolean,
): Promise<Outcome> => {
  const { url } = entry
  if ("problem" in entry) return invalid(url, entry.problem, provenance)
  const outcome = await outcomes.get(entry.target)
  return { ...(outcome ?? invalid(url, "it has no outcome", provenance)), url }
}

async function* batchesOf(urls: Iterable<string> | AsyncIterable<string>) {
  // A string is iterable too: without this error, each character would be checked as a URL.
  if (typeof urls === "string") {
    const message = "The URLs must be a list, not a string."
    throw new ValidationError({ message, issues: [] })
  }
  let batch: Array<string> = []
  for await (const url of urls) {
    batch.push(url)
    if (batch.length < maxUrls) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
