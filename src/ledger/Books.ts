/**
 * The open books of some accounts: balances and open holds, and what changes in them. In memory
 * they are the store itself; in SQL they are one transaction's working copy, filled with what it
 * locked and written back from what changed.
 */
import * as Either from "effect/Either"
import type { AccountId } from "../Account.ts"
import * as Balance from "./Balance.ts"
import { type Charge, type Hold, HoldExpired, type InsufficientCredits } from "./Hold.ts"
import type { Credits, LedgerEntry } from "./LedgerEntry.ts"
import type { Receipt } from "../Receipts.ts"
import type { RequestId } from "../RequestId.ts"

export class Books {
  /** Accounts whose balance changed since the books were opened. */
  readonly changed = new Set<AccountId>()
  readonly openedHolds: Array<Hold> = []
  readonly endedHolds: Array<RequestId> = []
  readonly newEntries: Array<LedgerEntry> = []
  readonly newReceipts: Array<Receipt> = []

  /** The requests that still have the idempotency keys they claimed. */
  readonly claims: Set<RequestId>
  private readonly balances: Map<AccountId, Balance.Balance>
  private readonly openHolds: Map<RequestId, Hold>

  constructor(
    balances: Iterable<readonly [AccountId, Balance.Balance]>,
    openHolds: Iterable<Hold>,
    claims: Iterable<{ readonly requestId: RequestId }>,
  ) {
    this.balances = new Map(balances)
    this.openHolds = new Map(Array.from(openHolds, (hold) => [hold.requestId, hold]))
    this.claims = new Set(Array.from(claims, ({ requestId }) => requestId))
  }

  balance(account: AccountId): Balance.Balance {
    return this.balances.get(account) ?? Balance.empty
  }

  hold(hold: Hold): Either.Either<Hold, InsufficientCredits> {
    return Either.map(Balance.hold(this.balance(hold.accountId), hold.amount), (balance) => {
      this.set(hold.accountId, balance)
      this.openHolds.set(hold.requestId, hold)
      this.openedHolds.push(hold)
      return hold
    })
  }

  settle(
    hold: Hold,
    charge: Charge,
    receipt: Receipt | undefined,
    at: number,
  ): Either.Either<void, HoldExpired> {
    if (!this.openHolds.has(hold.requestId)) {
      return Either.left(new HoldExpired({ requestId: hold.requestId }))
    }
    if (receipt !== undefined && !this.claims.has(receipt.claim.requestId)) {
      // Whoever has the key now will charge for the answer, and it must not be paid for twice.
      this.expire(hold)
      return Either.left(new HoldExpired({ requestId: hold.requestId }))
    }
    const [balance, entry] = Balance.settle(this.balance(hold.accountId), hold, charge, at)
    this.end(hold, balance)
    if (entry !== undefined) this.newEntries.push(entry)
    if (receipt !== undefined) this.newReceipts.push(receipt)
    return Either.void
  }

  /** A hold that is settled where it is made, so that it is never open. */
  charge(hold: Hold, charge: Charge, at: number): Either.Either<void, InsufficientCredits> {
    return Either.map(Balance.hold(this.balance(hold.accountId), hold.amount), (held) => {
      const [balance, entry] = Balance.settle(held, hold, charge, at)
      this.set(hold.accountId, balance)
      if (entry !== undefined) this.newEntries.push(entry)
    })
  }

  /** True when the hold was still open. */
  expire(hold: Hold): Either.Either<boolean> {
    const isOpen = this.openHolds.has(hold.requestId)
    if (isOpen) this.end(hold, Balance.release(this.balance(hold.accountId), hold))
    return Either.right(isOpen)
  }

  grant(
    account: AccountId,
    amount: Credits,
    note: string | null,
    at: number,
  ): Either.Either<Balance.Balance> {
    const [balance, entry] = Balance.grant(this.balance(account), account, amount, note, at)
    this.set(account, balance)
    this.newEntries.push(entry)
    return Either.right(balance)
  }

  private end(hold: Hold, balance: Balance.Balance) {
    this.set(hold.accountId, balance)
    this.openHolds.delete(hold.requestId)
    this.endedHolds.push(hold.requestId)
  }

  private set(account: AccountId, balance: Balance.Balance) {
    this.balances.set(account, balance)
    this.changed.add(account)
  }
}
