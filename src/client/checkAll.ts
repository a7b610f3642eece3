/** Checks a list of any length, and pays for each target once. */
import { maxUrls } from "../contract/Limits.ts"
import { type Item, memoryAnswers } from "../lists/Answers.ts"
import * as Purchase from "../lists/Purchase.ts"
import { ValidationError } from "./ClientError.ts"
import { mapInOrder } from "./mapInOrder.ts"
import { type CheckResult, invalid, type Outcome, unsent } from "./Outcomes.ts"
import type { AuthorityMetrics, CheckAllOptions } from "./ClientTypes.ts"
import * as Signal from "./Signal.ts"
import { type Entry, judging } from "./Targets.ts"

export async function* checkAll(
  client: Pick<AuthorityMetrics, "check" | "key" | "preview">,
  credentials: Purchase.Credentials,
  urls: Iterable<string> | AsyncIterable<string>,
  options: CheckAllOptions = {},
): AsyncGenerator<CheckResult, void> {
  const { answers = memoryAnswers(), concurrency = 4, idempotencyKey, onProgress } = options
  const { maxAgeSeconds, provenance = false } = options
  const stop = new AbortController()
  const signal = Signal.either(stop.signal, options.signal)
  const batches = batchesOf(urls)
  const next = () => Signal.orAborted(batches.next(), signal)
  const { leave, owner } = await answers.enter()
  // A store that belongs to this call alone has no other payer.
  const asked = options.answers && Purchase.payerOf(client, credentials, { signal })
  const paying = asked?.then(({ payer }) => payer) ?? Promise.resolve({ service: "", account: "" })
  paying.catch(() => undefined)
  const judge = judging(client)
  const maxAgeMs = maxAgeSeconds === undefined ? Purchase.defaultMaxAgeMs : maxAgeSeconds * 1000
  const isUsable = Purchase.usableSince(Date.now() - maxAgeMs)
  const outcomes = new Map<string, Promise<Outcome | undefined>>()

  /** Buys the targets that no earlier batch had. `earlier` resolves once those are known. */
  const checkBatch = async (batch: ReadonlyArray<string>, i: number, earlier: Promise<unknown>) => {
    const { entries } = await judge(batch, { maxAgeSeconds, signal })
    const payer = await paying
    await earlier
    const fresh = new Map<string, Item>()
    for (const entry of entries) {
      if ("target" in entry && !outcomes.has(entry.target) && !fresh.has(entry.target))
        fresh.set(entry.target, entry)
    }
    const found = new Map<string, Outcome>()
    let result = unsent([])
    const buyer: Purchase.Buyer = {
      answers,
      isUsable,
      owner,
      payer,
      check: async ({ items, key: idempotencyKey }) => {
        const options = { idempotencyKey, maxAgeSeconds, provenance: true, signal }
        const urls = items.map(({ url }) => url)
        const sent = await client.check(urls, options)
        result = { ...sent, creditsUsed: result.creditsUsed + sent.creditsUsed }
        return sent
      },
      fateOf: (batch) => (Purchase.isRepeatable(batch) ? "repeat" : "anew"),
      onAnswers: (answers) => {
        for (const { outcome, target } of answers) found.set(target, outcome)
      },
      pause: () => Signal.sleep(Purchase.lookAgainMs, signal),
    }
    const isNamed = idempotencyKey !== undefined && options.answers === undefined
    const items = [...fresh.values()].map(({ target, url }) => ({ target, url }))
    const { bought } = await Purchase.buy(
      buyer,
      items,
      isNamed ? `${idempotencyKey}-${i}` : undefined,
    )
    for (const target of fresh.keys()) {
      const outcome = bought.then(() => found.get(target))
      // The batch that buys the target throws its error.
      outcome.catch(() => undefined)
      outcomes.set(target, outcome)
    }
    return { entries, result: bought.then(() => result) }
  }

  let earlier: Promise<unknown> = Promise.resolve()
  const results = mapInOrder({ next }, concurrency, async (batch, i): Promise<CheckResult> => {
    const checked = checkBatch(batch, i, earlier)
    earlier = checked
    const { entries, result } = await checked
    const sent = await result
    const found = await Promise.all(entries.map((entry) => outcomeOf(entry, outcomes)))
    return { ...sent, outcomes: provenance ? found : found.map(withoutProvenance) }
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
    leave()
    stop.abort(new Error("The caller stopped reading the results."))
    // Ends the iteration of `urls`, so that a generator can release its resources. This is not
    // awaited, because a generator that waits for its next URL may never end.
    batches.return().catch(() => undefined)
  }
}

const outcomeOf = async (
  entry: Entry,
  outcomes: ReadonlyMap<string, Promise<Outcome | undefined>>,
): Promise<Outcome> => {
  const { url } = entry
  if ("problem" in entry) return invalid(url, entry.problem, true)
  const outcome = await outcomes.get(entry.target)
  return { ...(outcome ?? invalid(url, "it has no outcome", true)), url }
}

const withoutProvenance = (outcome: Outcome): Outcome => {
  if ("reason" in outcome) return { url: outcome.url, reason: outcome.reason }
  const { provenance: _, ...figures } = outcome
  return figures
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
