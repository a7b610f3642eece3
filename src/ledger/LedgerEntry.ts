/**
 * One entry of an account's ledger. Entries are only ever appended, and form a hash chain: each
 * hash covers the previous one, so an audit finds changed, removed and inserted entries.
 */
import { hash } from "node:crypto"
import * as Schema from "effect/Schema"
import { AccountId } from "../accounts/Account.ts"
import { ApiKeyId } from "../accounts/ApiKey.ts"
import { RequestId } from "../check/RequestId.ts"
import { Credits } from "./Credits.ts"

export const StatementEntry = Schema.Struct({
  accountId: AccountId,
  /** The number of the entry within its account, counted from 1 without gaps. */
  sequence: Schema.Int,
  kind: Schema.Literal("grant", "charge", "correction"),
  /** The credits that a grant adds, or that a charge or a correction takes away; never 0. */
  amount: Credits,
  /** The sum of grants minus charges and corrections, including this entry. */
  balanceAfter: Credits,
  requestId: Schema.NullOr(RequestId),
  /** The number of charged checks; null for a grant or a correction. */
  urls: Schema.NullOr(Schema.NonNegativeInt),
  /** The operator's note; null for a charge, or for a grant without a note. */
  note: Schema.NullOr(Schema.String),
  at: Schema.Int,
  /** The key of the charged request; null when it is not known, as in entries of old versions. */
  apiKeyId: Schema.optionalWith(Schema.NullOr(ApiKeyId), { exact: true }),
  /**
   * When a charge's hold was opened, in epoch milliseconds; null when that was at the time `at`.
   */
  heldAt: Schema.optionalWith(Schema.NullOr(Schema.Int), { exact: true }),
})
export type StatementEntry = typeof StatementEntry.Type

export const LedgerEntry = Schema.Struct({
  ...StatementEntry.fields,
  /** SHA-256 over the previous entry's hash and every field above, in hexadecimal. */
  hash: Schema.String,
})
export type LedgerEntry = typeof LedgerEntry.Type

/** Takes the place of the previous hash in an account's first entry. */
export const genesisHash = ""

/**
 * Computes the hash of an entry from the previous entry's hash. Leaves out a null `apiKeyId` or
 * `heldAt`, so that entries older than these fields keep their hashes.
 */
export const chainHash = (previous: string, entry: StatementEntry): string =>
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
      ...(entry.apiKeyId == null ? [] : [entry.apiKeyId]),
      ...(entry.heldAt == null ? [] : [entry.heldAt]),
    ]),
  )
