/**
 * One entry of an account's ledger. Entries are append-only and form a hash chain: each entry's
 * hash covers the previous entry's hash, so an audit finds changed, removed and inserted entries.
 */
import { hash } from "node:crypto"
import * as Schema from "effect/Schema"
import { AccountId } from "../accounts/Account.ts"
import { ApiKeyId } from "../accounts/ApiKey.ts"
import { RequestId } from "../check/RequestId.ts"
import { Credits } from "./Credits.ts"

/** An entry as the statement shows it. */
export const StatementEntry = Schema.Struct({
  accountId: AccountId,
  /** The number of the entry within the account: from 1, without gaps. */
  sequence: Schema.Int,
  kind: Schema.Literal("grant", "charge", "correction"),
  /** Credits that a grant adds, and that a charge or a correction takes; never 0. */
  amount: Credits,
  /** Sum of grants minus sums of charges and corrections, up to and including this entry. */
  balanceAfter: Credits,
  /** The charged request; null for a grant or a correction. */
  requestId: Schema.NullOr(RequestId),
  /** Number of charged checks; null for a grant or a correction. */
  urls: Schema.NullOr(Schema.NonNegativeInt),
  /** The operator's note; null for a charge, or for a grant without a note. */
  note: Schema.NullOr(Schema.String),
  /** The time of the entry, in epoch milliseconds. */
  at: Schema.Int,
  /** The key of the charged request; null when it is not known, as in entries of old versions. */
  apiKeyId: Schema.optionalWith(Schema.NullOr(ApiKeyId), { exact: true }),
  /**
   * When the hold of a charge with `apiKeyId` was opened, in epoch milliseconds; null when that was
   * at the time `at`.
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

/** The hash that an account's first entry uses in place of a previous entry's hash. */
export const genesisHash = ""

/**
 * Computes the hash of an entry. `previous` is the hash of the entry before it. A null `apiKeyId`
 * or `heldAt` is left out, so entries from before these fields keep their hashes.
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
