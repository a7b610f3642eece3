/**
 * One line of an account's books. Entries are only ever added, and each carries the hash of the
 * one before it, so that a line that was changed, removed or slipped in later shows.
 */
import { hash } from "node:crypto"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { RequestId } from "../RequestId.ts"

/** A whole number of credits; sums stay below 2^53, where every integer is exact. */
export const Credits = Schema.NonNegativeInt.pipe(
  Schema.lessThanOrEqualTo(Number.MAX_SAFE_INTEGER),
  Schema.annotations({
    message: () => ({ message: "expected a whole number of credits, 0 or more", override: true }),
  }),
  Schema.brand("Credits"),
)
export type Credits = typeof Credits.Type

/** As `Credits.make`, which tells what is wrong; each request adds and subtracts several times. */
export const creditsOf = (sum: number): Credits =>
  Credits.make(sum, { disableValidation: Number.isSafeInteger(sum) && sum >= 0 })

export const LedgerEntry = Schema.Struct({
  accountId: AccountId,
  /** 1 for the account's first entry, without gaps. */
  sequence: Schema.Int,
  kind: Schema.Literal("grant", "charge"),
  /** What a grant added or a charge took; never 0. */
  amount: Credits,
  /** Granted minus charged, this entry included. */
  balanceAfter: Credits,
  /** The request charged for; null for a grant. */
  requestId: Schema.NullOr(RequestId),
  /** How many checks were charged; null for a grant. */
  urls: Schema.NullOr(Schema.NonNegativeInt),
  /** The operator's words; null for a charge. */
  note: Schema.NullOr(Schema.String),
  /** Epoch milliseconds. */
  at: Schema.Int,
  /** SHA-256 over the former entry's hash and every field above, in hexadecimal. */
  hash: Schema.String,
})
export type LedgerEntry = typeof LedgerEntry.Type

/** What stands in for the hash before an account's first entry. */
export const genesisHash = ""

/** The hash that an entry must carry when the entry before it carries `previous`. */
export const chainHash = (previous: string, entry: Omit<LedgerEntry, "hash">): string =>
  hash(
    "sha256",
    JSON.stringify([
      previous,
      entry.accountId,
      entry.sequence,
      entry.kind,
      entry.amount,
      entry.balanceAfter,
      entry.requestId,
      entry.urls,
      entry.note,
      entry.at,
    ]),
  )
