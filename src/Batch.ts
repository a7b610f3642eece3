/** Pure rules for a batch of URLs that an account submits. */
import { hash } from "node:crypto"
import type * as Either from "effect/Either"
import type { AccountId } from "./Account.ts"
import { type Credits, creditsOf } from "./ledger/Credits.ts"
import type { Hold } from "./ledger/Hold.ts"
import type { RequestId } from "./RequestId.ts"
import { type InvalidUrl, Target } from "./Target.ts"

export interface Batch {
  readonly accountId: AccountId
  readonly requestId: RequestId
  /** The URLs as submitted. */
  readonly urls: ReadonlyArray<string>
  /** Absent when the client sent no idempotency key. */
  readonly idempotencyKey?: string | undefined
}

/** Parses each URL to a target, or to the reason why it is invalid. */
export const parse = (
  urls: ReadonlyArray<string>,
): ReadonlyArray<Either.Either<Target, InvalidUrl>> => urls.map((url) => Target.parse(url))

/** Makes the hold of a batch. The hold's amount pays for a successful check of every target. */
export const holdOf = (
  { accountId, idempotencyKey: key, requestId, urls }: Batch,
  targets: ReadonlyArray<Target>,
  price: Credits,
): Hold => ({
  accountId,
  requestId,
  amount: creditsOf(price * targets.length),
  idempotencyKey: key === undefined ? undefined : { key, fingerprint: fingerprint(urls) },
})

/**
 * Hashes the URLs. Two batches have the same fingerprint when they have the same URLs in the same
 * order.
 */
const fingerprint = (urls: ReadonlyArray<string>): string => hash("sha256", JSON.stringify(urls))
