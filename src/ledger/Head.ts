/**
 * The heads of a ledger: for each account, the number of its entries and the hash of the last one.
 * Kept elsewhere, they prove later that the books still continue the same entries.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../Account.ts"

export const Head = Schema.Struct({
  accountId: AccountId,
  /** Number of entries; at least 1. */
  entries: Schema.Int,
  /** The hash of the last entry. */
  head: Schema.String,
})
export type Head = typeof Head.Type

/** A head as a line of text: the account's id, the number of entries and the hash. */
export const Line = Schema.split(" ").pipe(
  Schema.compose(
    Schema.Tuple(
      AccountId.pipe(Schema.minLength(1)),
      Schema.NumberFromString.pipe(Schema.compose(Schema.Int), Schema.positive()),
      Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)),
    ),
  ),
)

export const lineOf = ({ accountId, entries, head }: Head) => `${accountId} ${entries} ${head}`

/** Counts the accounts, and computes SHA-256 over their lines, each with a line feed. */
export const digest = <E, R>(heads: Stream.Stream<Head, E, R>) =>
  Effect.suspend(() => {
    const hash = createHash("sha256")
    return Stream.runFold(heads, 0, (accounts, head) => {
      hash.update(`${lineOf(head)}\n`)
      return accounts + 1
    }).pipe(Effect.map((accounts) => ({ accounts, digest: hash.digest("hex") })))
  })
