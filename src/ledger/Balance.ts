/**
 * The rules of money, pure: a store of credits loads a `Balance`, applies one of these functions
 * and keeps what comes back, so that memory, SQLite and PostgreSQL cannot differ in them.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { AccountId } from "../Account.ts"
import { type Charge, type Hold, InsufficientCredits } from "./Hold.ts"
import { chainHash, Credits, creditsOf, genesisHash, type LedgerEntry } from "./LedgerEntry.ts"

/** One account's books in short. */
export const Balance = Schema.Struct({
  /** Sum of all grants. */
  granted: Credits,
  /** Sum of all charges. */
  charged: Credits,
  /** Sum of the open holds. */
  held: Credits,
  /** How many entries there are: the last one's sequence. */
  entries: Schema.NonNegativeInt,
  /** The last entry's hash. */
  head: Schema.String,
})
export type Balance = typeof Balance.Type

export const empty: Balance = {
  granted: creditsOf(0),
  charged: creditsOf(0),
  held: creditsOf(0),
  entries: 0,
  head: genesisHash,
}

/** What a client may still spend. */
export const available = (balance: Balance): number =>
  balance.granted - balance.charged - balance.held

export const hold = (
  balance: Balance,
  amount: Credits,
): Either.Either<Balance, InsufficientCredits> =>
  amount > available(balance)
    ? Either.left(new InsufficientCredits({ required: amount, available: available(balance) }))
    : Either.right({ ...balance, held: creditsOf(balance.held + amount) })

/** Returns the whole of an open hold. */
export const release = (balance: Balance, hold: Hold): Balance => ({
  ...balance,
  held: creditsOf(balance.held - hold.amount),
})

/** Ends an open hold with a charge; dies when the charge exceeds the hold. */
export const settle = (
  balance: Balance,
  hold: Hold,
  charge: Charge,
  at: number,
): readonly [Balance, LedgerEntry | undefined] => {
  if (charge.amount > hold.amount) {
    throw new RangeError(`a charge of ${charge.amount} exceeds its hold of ${hold.amount}`)
  }
  const released = release(balance, hold)
  if (charge.amount === 0) return [released, undefined]
  return append(
    { ...released, charged: creditsOf(released.charged + charge.amount) },
    {
      accountId: hold.accountId,
      kind: "charge",
      amount: charge.amount,
      requestId: hold.requestId,
      urls: charge.urls,
      note: null,
      at,
    },
  )
}

/** Dies when the sum of all grants would no longer be exact. */
export const grant = (
  balance: Balance,
  accountId: AccountId,
  amount: Credits,
  note: string | null,
  at: number,
): readonly [Balance, LedgerEntry] =>
  append(
    { ...balance, granted: creditsOf(balance.granted + amount) },
    { accountId, kind: "grant", amount, requestId: null, urls: null, note, at },
  )

const append = (
  balance: Balance,
  detail: Omit<LedgerEntry, "sequence" | "balanceAfter" | "hash">,
): readonly [Balance, LedgerEntry] => {
  const unsealed = {
    ...detail,
    sequence: balance.entries + 1,
    balanceAfter: creditsOf(balance.granted - balance.charged),
  }
  const entry = { ...unsealed, hash: chainHash(balance.head, unsealed) }
  return [{ ...balance, entries: entry.sequence, head: entry.hash }, entry]
}
