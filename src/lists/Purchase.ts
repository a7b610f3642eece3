/** The rules by which a run and `checkAll` use stored answers and send batches. */
import { v4 as uuid, v5 as hashed } from "uuid"
import {
  IdempotencyKeyReused,
  InsufficientCredits,
  ValidationError,
} from "../client/ClientError.ts"
import type { AuthorityMetrics, CallOptions, Key } from "../client/ClientTypes.ts"
import type { CheckResult } from "../client/Outcomes.ts"
import { isHidden } from "../client/Targets.ts"
import type { Answer, Answers, Batch, Item, Payer } from "./Answers.ts"

/** The account that an API key spends from. */
export interface Credentials {
  readonly service: string
  readonly apiKey: string
}

/**
 * The maximum age of a stored answer in milliseconds, unless the user sets another one: 30 days.
 */
export const defaultMaxAgeMs = 30 * 24 * 60 * 60 * 1000

/** How long an answer is used when the vendor does not know the target: one hour. */
const unknownMs = 60 * 60 * 1000

/**
 * Makes the rule for which stored answers are used: successes, and for one hour the answer that the
 * vendor does not know the target. Other failures are checked again. `since` is in epoch
 * milliseconds.
 */
export const usableSince =
  (since: number) =>
  ({ at, outcome }: Answer): boolean =>
    at >= since && (!("reason" in outcome) || isUnknown(outcome, at))

const isUnknown = ({ cause }: { readonly cause?: unknown }, at: number) =>
  cause === "unknown" && at > Date.now() - unknownMs

/**
 * How long a batch can be repeated under its idempotency key, in milliseconds. The service forgets
 * the key after 24 hours; the last hour is a margin for the clocks and for the repeat itself.
 */
const repeatableMs = 23 * 60 * 60 * 1000

export const isRepeatable = ({ sentAt }: Batch): boolean => Date.now() - sentAt < repeatableMs

/** Asks the service who pays. A key that may not ask counts as a separate account. */
export const payerOf = async (
  client: Pick<AuthorityMetrics, "key">,
  { apiKey, service }: Credentials,
  options: CallOptions = {},
): Promise<{ readonly payer: Payer; readonly budget: Key["budget"] }> => {
  try {
    const { account, budget } = await client.key(options)
    return { payer: { service, account }, budget }
  } catch (error) {
    if (!isHidden(error)) throw error
    return { payer: { service, account: `key:${hashed(apiKey, namespace)}` }, budget: null }
  }
}

/** The namespace for hashing keys. */
const namespace = "6f1c4bd5-9a55-4f2c-9d5f-5a4b7f0f1d3e"

export interface Buyer {
  readonly answers: Answers
  readonly payer: Payer
  /** The name of the run, as returned by `enter`. */
  readonly owner: string
  readonly isUsable: (answer: Answer) => boolean
  /** Sends a stored batch, asking for the provenance. */
  readonly check: (batch: Batch) => Promise<CheckResult>
  /** What happens to a batch whose run has ended without an answer. */
  readonly fateOf: (batch: Batch) => "repeat" | "anew" | "leave"
  readonly onAnswers: (answers: ReadonlyArray<Answer>) => void
  /** Waits a second before the next look at the batches that other runs are sending. */
  readonly pause: () => Promise<void>
}

/**
 * Finds the outcomes of at most 50 targets: in the store, in a batch that was sent before, or by
 * sending a new batch with this key. Resolves once that batch is in the store. `bought` resolves
 * once each target has its outcome, to the targets that `fateOf` left out. Both reject with the
 * errors of the client and the store; what was sent stays in the store unless the service refused
 * it.
 */
export const buy = async (
  buyer: Buyer,
  items: Iterable<Item>,
  key: string = uuid(),
): Promise<{ readonly bought: Promise<ReadonlyArray<Item>> }> => {
  const { answers, isUsable, owner, payer } = buyer
  const open = new Map([...items].map((item) => [item.target, item]))
  const isOpen = ({ target }: Item) => open.has(target)
  const add = (found: ReadonlyArray<Answer>) => {
    for (const { target } of found) open.delete(target)
    if (found.length > 0) buyer.onAnswers(found)
  }
  const look = async () => add((await answers.find(payer, [...open.keys()])).filter(isUsable))
  const take = async (key: string) =>
    open.size === 0
      ? undefined
      : answers.take(payer, { key, items: [...open.values()], sentAt: Date.now(), owner }, isUsable)
  const send = async (batch: Batch) => {
    const result = await buyer.check(batch).catch(async (error: unknown) => {
      if (isRefused(error)) await answers.replace(payer, batch, undefined)
      throw error
    })
    const found = answersIn(batch, result)
    await answers.keep(payer, batch.key, found.filter(usableSince(0)))
    add(found)
  }
  /** Collects outcomes from batches that were sent before, and takes the targets that are free. */
  const collect = async () => {
    const left: Array<Item> = []
    const pending = await answers.pending(payer)
    await look()
    for (const batch of pending.filter((batch) => batch.items.some(isOpen))) {
      if (await isAtWork(answers, batch)) continue
      const fate = buyer.fateOf(batch)
      const rest = batch.items.filter((item) => !isOpen(item))
      if (fate === "anew")
        await answers.replace(
          payer,
          batch,
          rest.length === 0 ? undefined : { ...batch, items: rest },
        )
      else if (fate === "leave") {
        for (const { target } of batch.items) left.push(...taken(open, target))
      } else {
        const adopted = { ...batch, owner }
        if (await answers.replace(payer, batch, adopted)) await send(adopted)
      }
    }
    const batch = await take(uuid())
    if (batch !== undefined) await send(batch)
    else if (open.size > 0) await buyer.pause()
    return left
  }
  await look()
  const first = await take(key)
  const finish = async () => {
    const left: Array<Item> = []
    if (first !== undefined) await send(first)
    while (open.size > 0) left.push(...(await collect()))
    return left
  }
  return { bought: finish() }
}

/** Removes a target from the open ones. Returns what it removed. */
const taken = (open: Map<string, Item>, target: string) => {
  const item = open.get(target)
  open.delete(target)
  return item === undefined ? [] : [item]
}

const answersIn = (
  { items, sentAt }: Batch,
  { isReplay, outcomes, requestId }: CheckResult,
): ReadonlyArray<Answer> => {
  const at = isReplay ? sentAt : Date.now()
  return items.flatMap(({ target }, i) => {
    const outcome = outcomes[i]
    if (outcome === undefined) return []
    return [{ target, outcome, at, ...(requestId !== undefined && { requestId }) }]
  })
}

/** True when nothing was charged, and nothing is stored under the key. */
const isRefused = (error: unknown) =>
  error instanceof InsufficientCredits ||
  error instanceof IdempotencyKeyReused ||
  error instanceof ValidationError

const isAtWork = async (answers: Answers, batch: Batch): Promise<boolean> =>
  isRepeatable(batch) && answers.isAtWork(batch.owner)

/** How long to wait before the next look at other runs' batches, in milliseconds. */
export const lookAgainMs = 1000
