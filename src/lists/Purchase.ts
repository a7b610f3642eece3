/** The rules by which a run and `checkAll` use answers, and send batches. */
import { v5 as hashed } from "uuid"
import {
  IdempotencyKeyReused,
  InsufficientCredits,
  ValidationError,
} from "../client/ClientError.ts"
import type { AuthorityMetrics, CallOptions, CheckOptions, Key } from "../client/Client.ts"
import type { CheckResult } from "../client/Outcomes.ts"
import { isHidden } from "../client/Targets.ts"
import { type Answer, type Answers, type Batch, type Payer } from "./Answers.ts"

/** The account that an API key spends from. */
export interface Credentials {
  /** The base URL of the service. */
  readonly service: string
  readonly apiKey: string
}

/** How old an answer may be, in milliseconds, unless the user says another age: 30 days. */
export const defaultMaxAgeMs = 30 * 24 * 60 * 60 * 1000

/** How long a target that the vendor does not know has no figures: an hour. */
const unknownMs = 60 * 60 * 1000

/**
 * Makes the rule that says which answers are used. A success is an answer, and a target that the
 * vendor does not know is one for an hour. Other failures are checked again. `since` is in epoch
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
 * a key after 24 hours. The hour between is for the clocks and for the repeat itself.
 */
const repeatableMs = 23 * 60 * 60 * 1000

export const isRepeatable = ({ sentAt }: Batch): boolean => Date.now() - sentAt < repeatableMs

/** Asks who pays. A key that may not ask is an account of its own. */
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

/** The namespace of the hashes of keys. */
const namespace = "6f1c4bd5-9a55-4f2c-9d5f-5a4b7f0f1d3e"

/** A batch of a payer in a store. */
interface Sending {
  readonly answers: Answers
  readonly payer: Payer
  readonly batch: Batch
}

/**
 * Sends a stored batch, and stores its answers. `isFirst` is false when another run has stored them
 * already. Rejects like the client and the store. The batch stays in the store, unless the service
 * refused the batch without a charge.
 */
export const send = async (
  client: Pick<AuthorityMetrics, "check">,
  { answers, batch, payer }: Sending,
  options: Pick<CheckOptions, "maxAgeSeconds" | "maxCredits" | "signal">,
): Promise<{
  readonly result: CheckResult
  readonly found: ReadonlyArray<Answer>
  readonly isFirst: boolean
}> => {
  const { items, key, sentAt } = batch
  const urls = items.map(({ url }) => url)
  const result = await client
    .check(urls, { ...options, idempotencyKey: key, provenance: true })
    .catch(async (error: unknown) => {
      if (isRefused(error)) await answers.replace(payer, batch, undefined)
      throw error
    })
  const at = result.isReplay ? sentAt : Date.now()
  const found = result.outcomes.flatMap((outcome, i): ReadonlyArray<Answer> => {
    const target = items[i]?.target
    const { requestId } = result
    if (target === undefined) return []
    return [{ target, outcome, at, ...(requestId !== undefined && { requestId }) }]
  })
  const isFirst = await answers.keep(payer, key, found.filter(usableSince(0)))
  return { result, found, isFirst }
}

/** True when nothing was charged, and nothing is stored under the key. */
const isRefused = (error: unknown) =>
  error instanceof InsufficientCredits ||
  error instanceof IdempotencyKeyReused ||
  error instanceof ValidationError

/** Takes a batch over from its run. Returns undefined when another run has it, or has its answer. */
export const adopt = async (
  { answers, batch, payer }: Sending,
  owner: string,
): Promise<Batch | undefined> => {
  if (await isAtWork(answers, batch)) return undefined
  const adopted = { ...batch, owner }
  return (await answers.replace(payer, batch, adopted)) ? adopted : undefined
}

/**
 * True while another run may still send the batch. After an hour that is not believed any more: a
 * process may have the number of one that was killed.
 */
export const isAtWork = async (answers: Answers, { owner, sentAt }: Batch): Promise<boolean> =>
  Date.now() - sentAt < 60 * 60 * 1000 && answers.isAtWork(owner)

/** Forgets that targets were sent: they are sent anew. The other targets of the batch stay. */
export const giveUp = async (
  { answers, batch, payer }: Sending,
  isGivenUp: (target: string) => boolean,
): Promise<void> => {
  const items = batch.items.filter(({ target }) => !isGivenUp(target))
  await answers.replace(payer, batch, items.length === 0 ? undefined : { ...batch, items })
}

/** The batches that have one of the targets. */
export const batchesWith = (
  pending: ReadonlyArray<Batch>,
  isWanted: (target: string) => boolean,
): ReadonlyArray<Batch> =>
  pending.filter(({ items }) => items.some(({ target }) => isWanted(target)))

/** How long to wait before the next look at another run's batches, in milliseconds. */
export const lookAgainMs = 1000
