/** Checks a list of any length, and pays each target once. */
import { v4 as uuid } from "uuid"
import { maxUrls } from "../contract/Limits.ts"
import type { Answer, Answers, Batch, Item, Payer } from "../lists/Answers.ts"
import { memoryAnswers } from "../lists/memoryAnswers.ts"
import * as Purchase from "../lists/Purchase.ts"
import { ValidationError } from "./ClientError.ts"
import { mapInOrder } from "./mapInOrder.ts"
import { type CheckResult, invalid, type Outcome, unsent } from "./Outcomes.ts"
import type { AuthorityMetrics, CheckAllOptions } from "./Client.ts"
import * as Signal from "./Signal.ts"
import { type Entry, judging } from "./Targets.ts"

type Client = Pick<AuthorityMetrics, "check" | "key" | "preview">

export async function* checkAll(
  client: Client,
  credentials: Purchase.Credentials,
  urls: Iterable<string> | AsyncIterable<string>,
  options: CheckAllOptions = {},
): AsyncGenerator<CheckResult, void> {
  const { answers = memoryAnswers(), concurrency = 4, idempotencyKey, onProgress } = options
  const { maxAgeSeconds, provenance = false } = options
  const ended = Signal.following(options.signal)
  const { signal } = ended
  const batches = batchesOf(urls)
  const next = () => Signal.orAborted(batches.next(), signal)
  const { leave, owner } = await answers.enter()
  // A store of this call alone has no other payer.
  const asked = options.answers && Purchase.payerOf(client, credentials, { signal })
  const payer = asked?.then(({ payer }) => payer) ?? Promise.resolve({ service: "", account: "" })
  payer.catch(() => undefined)
  const buy = buying(client, { answers, maxAgeSeconds, owner, payer, signal })
  const judge = judging(client)
  const outcomes = new Map<string, Promise<Outcome | undefined>>()

  /** Begins with the targets that no earlier batch had. `earlier` resolves when those are known. */
  const checkBatch = async (batch: ReadonlyArray<string>, i: number, earlier: Promise<unknown>) => {
    const { entries } = await judge(batch, { maxAgeSeconds, signal })
    await earlier
    const fresh = new Map<string, Item>()
    for (const entry of entries) {
      if ("target" in entry && !outcomes.has(entry.target) && !fresh.has(entry.target))
        fresh.set(entry.target, { url: entry.url, target: entry.target })
    }
    const isNamed = idempotencyKey !== undefined && options.answers === undefined
    const { bought } = await buy(fresh, isNamed ? `${idempotencyKey}-${i}` : uuid())
    for (const target of fresh.keys()) {
      const outcome = bought.then(({ found }) => found.get(target))
      // The batch of the target throws its error.
      outcome.catch(() => undefined)
      outcomes.set(target, outcome)
    }
    return { entries, bought }
  }

  let earlier: Promise<unknown> = Promise.resolve()
  const results = mapInOrder({ next }, concurrency, async (batch, i): Promise<CheckResult> => {
    const checked = checkBatch(batch, i, earlier)
    earlier = checked
    const { bought, entries } = await checked
    const { result } = await bought
    const found = await Promise.all(entries.map((entry) => outcomeOf(entry, outcomes)))
    return { ...result, outcomes: provenance ? found : found.map(withoutProvenance) }
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
    ended.forget()
    ended.abort(new Error("The caller stopped reading the results."))
    // Ends the iteration of `urls`, so that a generator can release its resources. Do not await
    // the end: a generator that waits for its next URL may never end.
    batches.return().catch(() => undefined)
  }
}

interface Bought {
  readonly found: ReadonlyMap<string, Outcome>
  readonly result: CheckResult
}

/**
 * Makes a function that finds outcomes of targets: in the store, of a batch that was sent before, or
 * by a batch with this key. The function resolves when the batch is in the store.
 */
const buying = (
  client: Client,
  options: {
    readonly answers: Answers
    readonly maxAgeSeconds: number | undefined
    readonly owner: string
    readonly payer: Promise<Payer>
    readonly signal: AbortSignal
  },
) => {
  const { answers, maxAgeSeconds, owner, signal } = options
  const maxAgeMs = maxAgeSeconds === undefined ? Purchase.defaultMaxAgeMs : maxAgeSeconds * 1000
  const isUsable = Purchase.usableSince(Date.now() - maxAgeMs)

  return async (
    targets: ReadonlyMap<string, Item>,
    key: string,
  ): Promise<{ readonly bought: Promise<Bought> }> => {
    const payer = await options.payer
    const open = new Map(targets)
    const found = new Map<string, Outcome>()
    let result = unsent([])
    const add = (fresh: ReadonlyArray<Answer>) => {
      for (const { outcome, target } of fresh) {
        if (open.delete(target)) found.set(target, outcome)
      }
    }
    const look = async () => add((await answers.find(payer, [...open.keys()])).filter(isUsable))
    const take = async (key: string) => {
      const batch = { key, items: [...open.values()], sentAt: Date.now(), owner }
      return open.size === 0 ? undefined : answers.take(payer, batch, isUsable)
    }
    const send = async (batch: Batch) => {
      const sent = await Purchase.send(client, { answers, batch, payer }, { maxAgeSeconds, signal })
      result = { ...sent.result, creditsUsed: result.creditsUsed + sent.result.creditsUsed }
      add(sent.found)
    }
    /** Collects what was sent before: by a run at work, or by one that has ended. */
    const collect = async () => {
      const pending = await answers.pending(payer)
      await look()
      for (const batch of Purchase.batchesWith(pending, (target) => open.has(target))) {
        const sending = { answers, batch, payer }
        const isOpen = (target: string) => open.has(target)
        if (!Purchase.isRepeatable(batch)) await Purchase.giveUp(sending, isOpen)
        else {
          const adopted = await Purchase.adopt(sending, owner)
          if (adopted !== undefined) await send(adopted)
        }
      }
      const taken = await take(uuid())
      if (taken !== undefined) return send(taken)
      if (open.size > 0) await Signal.sleep(Purchase.lookAgainMs, signal)
    }
    await look()
    const taken = await take(key)
    const buy = async () => {
      if (taken !== undefined) await send(taken)
      while (open.size > 0) await collect()
      return { found, result }
    }
    return { bought: buy() }
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
