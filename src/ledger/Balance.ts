/**
 * Pure rules for an account's credits. A store loads a `Balance`, applies one of these functions
 * and saves the result, so every store behaves the same.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import {
  type Charge,
  CorrectionTooLarge,
  GrantTooLarge,
  type Hold,
  InsufficientCredits,
} from "./Hold.ts"
import { Credits, creditsOf } from "./Credits.ts"
import { chainHash, genesisHash, type LedgerEntry } from "./LedgerEntry.ts"

/**
 * The credits of an account: the sum of its grants minus its corrections, the sum of its charges,
 * and the sum of its open holds.
 */
export const Funds = Schema.Struct({ granted: Credits, charged: Credits, held: Credits })
export type Funds = typeof Funds.Type

/** The balance of one account, with the length and the last hash of its ledger. */
export const Balance = Schema.Struct({
  ...Funds.fields,
  /** The number of ledger entries, which is also the `sequence` of the last one. */
  entries: Schema.NonNegativeInt,
  /** The hash of the last ledger entry; `genesisHash` when there are no entries. */
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

/** The credits that the account can still spend. */
export const available = ({ charged, granted, held }: Funds): number => granted - charged - held

/** Sets credits aside. Fails with InsufficientCredits when fewer than `amount` are available. */
export const hold = (
  balance: Balance,
  amount: Credits,
): Either.Either<Balance, InsufficientCredits> =>
  amount > available(balance)
    ? Either.left(new InsufficientCredits({ required: amount, available: available(balance) }))
    : Either.right({ ...balance, held: creditsOf(balance.held + amount) })

/** Gives all credits of an open hold back to the account. */
export const release = (balance: Balance, hold: Hold): Balance => ({
  ...balance,
  held: creditsOf(balance.held - hold.amount),
})

/** Throws when the charge exceeds the hold. */
export const checkCharge = (hold: Hold, charge: Charge) => {
  if (charge.amount > hold.amount) {
    throw new RangeError(`a charge of ${charge.amount} exceeds its hold of ${hold.amount}`)
  }
}

/**
 * Charges an open hold and ends it. Returns the new balance and the ledger entry; a charge of 0
 * makes no entry. `at` is the time of the charge, and `heldAt` the time at which the hold was
 * opened, both in epoch milliseconds. Throws when the charge exceeds the hold.
 */
export const settle = (
  balance: Balance,
  hold: Hold,
  charge: Charge,
  at: number,
  heldAt: number | null = at,
): readonly [Balance, LedgerEntry | undefined] => {
  checkCharge(hold, charge)
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
      apiKeyId: hold.apiKeyId ?? null,
      heldAt: hold.apiKeyId == null || heldAt === at ? null : heldAt,
    },
  )
}

/** A grant or a correction by an operator. `at` is in epoch milliseconds. */
export type Act = Pick<LedgerEntry, "accountId" | "amount" | "note" | "at">

type Acted<E> = Either.Either<readonly [Balance, LedgerEntry], E>

/** Adds credits. Fails when the account's grants would add up to more than 2^53 - 1 credits. */
export const grant = (balance: Balance, act: Act): Acted<GrantTooLarge> => {
  const grantable = Number.MAX_SAFE_INTEGER - balance.granted
  return act.amount > grantable
    ? Either.left(new GrantTooLarge({ grantable }))
    : Either.right(adjust(balance, act.amount, { ...act, kind: "grant" }))
}

/** Takes back credits that were granted by mistake. Fails when fewer are available. */
export const correct = (balance: Balance, act: Act): Acted<CorrectionTooLarge> =>
  act.amount > available(balance)
    ? Either.left(new CorrectionTooLarge({ amount: act.amount, available: available(balance) }))
    : Either.right(adjust(balance, -act.amount, { ...act, kind: "correction" }))

const adjust = (balance: Balance, change: number, act: Act & Pick<LedgerEntry, "kind">) =>
  append(
    { ...balance, granted: creditsOf(balance.granted + change) },
    { ...act, requestId: null, urls: null, apiKeyId: null, heldAt: null },
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
