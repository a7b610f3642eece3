/**
 * The books of some accounts: their balances, open holds and idempotency keys, and a record of what
 * changed. The store makes one `Books` for each transaction, fills it with the locked rows, and
 * writes the changes back.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { AccountId } from "../accounts/Account.ts"
import type { RequestId } from "../check/RequestId.ts"
import * as Balance from "./Balance.ts"
import type { BudgetExceeded } from "./budgets/Budget.ts"
import { Budgets } from "./budgets/Budgets.ts"
import {
  type Charge,
  type CorrectionTooLarge,
  type GrantTooLarge,
  type Hold,
  HoldExpired,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  type InsufficientCredits,
  LimitExceeded,
  retentionMs,
} from "./Hold.ts"
import type { LedgerEntry } from "./LedgerEntry.ts"
import * as Usage from "./usage/Usage.ts"

export interface OpenHold extends Hold {
  readonly expiresAt: number
  /**
   * When the hold was opened, in epoch milliseconds; null for holds opened by versions that did not
   * store it.
   */
  readonly heldAt: number | null
}

/** An idempotency key, the request that owns it, and the answer stored for repeated requests. */
export interface KeyRecord {
  readonly accountId: AccountId
  readonly key: string
  /** Hash of the submitted URLs and the honoured preferences. */
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly answer: string | null
  /**
   * When the idempotency key expires, in epoch milliseconds: at the end of the hold's lease, or,
   * once an answer is stored, 24 hours after that.
   */
  readonly expiresAt: number
}

/**
 * Why a request is refused. A refused request holds no credits, is not charged and does not change
 * the idempotency key.
 */
export type Refusal =
  InsufficientCredits | LimitExceeded | BudgetExceeded | IdempotencyKeyReused | IdempotencyKeyInUse

/** The rules that change balances, holds and idempotency keys. Times are epoch milliseconds. */
export class Books {
  readonly changed = new Set<AccountId>()
  readonly openedHolds = new Map<RequestId, OpenHold>()
  readonly endedHolds: Array<RequestId> = []
  readonly newEntries: Array<LedgerEntry> = []
  readonly budgets: Budgets
  /** The usage counted since this object was made: one sum for each account, key and day. */
  readonly usage = new Map<string, Usage.DailyUsage>()

  private readonly leaseMs: number
  private readonly leaseClockAheadMs: number
  private readonly balances: Map<AccountId, Balance.Balance>
  private readonly holds: Map<RequestId, OpenHold>
  private readonly keys: Map<string, KeyRecord>
  private readonly changedKeys = new Map<string, Pick<KeyRecord, "accountId" | "key">>()

  /**
   * `leaseMs` is how long a hold stays open if it is neither settled nor released; an idempotency
   * key without a stored answer lasts equally long. `leaseClockAheadMs` is how far the clock that
   * judges leases is ahead of the clock that gives the methods their times.
   */
  constructor(
    leaseMs: number,
    balances: Iterable<readonly [AccountId, Balance.Balance]> = [],
    openHolds: Iterable<OpenHold> = [],
    keys: Iterable<KeyRecord> = [],
    budgets = new Budgets(),
    leaseClockAheadMs = 0,
  ) {
    this.leaseClockAheadMs = leaseClockAheadMs
    this.budgets = budgets
    this.leaseMs = leaseMs
    this.balances = new Map(balances)
    this.holds = new Map(Array.from(openHolds, (hold) => [hold.requestId, hold]))
    this.keys = new Map(Array.from(keys, (record) => [idOf(record.accountId, record.key), record]))
  }

  balance(account: AccountId): Balance.Balance {
    return this.balances.get(account) ?? Balance.empty
  }

  get openHolds(): Iterable<OpenHold> {
    return this.holds.values()
  }

  /** The idempotency keys that were taken or got an answer since this object was made. */
  get writtenKeys(): ReadonlyArray<KeyRecord> {
    return Array.from(this.changedKeys.keys()).flatMap((id) => this.keys.get(id) ?? [])
  }

  /** The idempotency keys that were deleted since this object was made and not taken again. */
  get freedKeys(): ReadonlyArray<Pick<KeyRecord, "accountId" | "key">> {
    return Array.from(this.changedKeys).flatMap(([id, key]) => (this.keys.has(id) ? [] : [key]))
  }

  /**
   * Sets credits aside and takes the idempotency key. When the key has a stored answer, returns
   * that answer and changes nothing.
   */
  open(hold: Hold, now: number): Either.Either<Option.Option<string>, Refusal> {
    const stored = this.storedAnswer(hold, now)
    if (Either.isLeft(stored) || Option.isSome(stored.right)) return stored
    // An earlier commit has already opened the hold of this request, but the database's answer to
    // that commit was lost.
    if (this.holds.has(hold.requestId)) return stored
    // When the lease of the key's previous request has ended, its hold ends here, without waiting
    // for a sweep.
    const former = this.holds.get(this.keyOf(hold)?.requestId ?? hold.requestId)
    if (former !== undefined) {
      this.end(former, Balance.release(this.balance(hold.accountId), former), 0)
    }
    const heldAt = this.budgets.timeOf(hold.apiKeyId, now)
    return Either.map(this.reserve(hold, heldAt), (balance) => {
      const opened = { ...hold, expiresAt: this.leaseEnd(now), heldAt }
      this.setBalance(hold.accountId, balance)
      this.budgets.open(hold, heldAt)
      this.holds.set(hold.requestId, opened)
      this.openedHolds.set(hold.requestId, opened)
      this.setKey(hold, null, opened.expiresAt)
      return Option.none()
    })
  }

  /**
   * Charges a hold, ends it, and stores the answer under the hold's idempotency key. Fails and
   * charges nothing when the hold has already ended, or when another request owns the key.
   */
  settle(
    hold: Hold,
    charge: Charge,
    answer: string | undefined,
    now: number,
  ): Either.Either<void, HoldExpired> {
    if (!this.ownsItsKey(hold)) this.release(hold)
    const open = this.holds.get(hold.requestId)
    if (open === undefined) {
      return Either.left(new HoldExpired({ requestId: hold.requestId }))
    }
    const before = this.balance(hold.accountId)
    const [balance, entry] = Balance.settle(before, open, charge, now, open.heldAt)
    this.end(open, balance, charge.amount)
    if (entry !== undefined) this.newEntries.push(entry)
    this.count(Usage.ofCharge(open, charge, now))
    if (answer !== undefined) this.setKey(hold, answer, now + retentionMs)
    return Either.void
  }

  /** Does `open` and `settle` in one step, for a known charge. No hold stays open. */
  charge(
    hold: Hold,
    charge: Charge,
    answer: string | undefined,
    now: number,
  ): Either.Either<Option.Option<string>, Refusal> {
    Balance.checkCharge(hold, charge)
    return Either.map(this.open(hold, now), (stored) => {
      if (Option.isNone(stored)) this.settle(hold, charge, answer, now)
      return stored
    })
  }

  /**
   * Returns all credits of a hold to the account, and deletes the hold's idempotency key unless it
   * has a stored answer. Returns false when the hold had already ended.
   */
  release(hold: Hold): Either.Either<boolean> {
    const record = this.keyOf(hold)
    if (record !== undefined && record.requestId === hold.requestId && record.answer === null) {
      this.deleteKey(record)
    }
    const open = this.holds.get(hold.requestId)
    if (open !== undefined) this.end(open, Balance.release(this.balance(hold.accountId), open), 0)
    return Either.right(open !== undefined)
  }

  grant(act: Balance.Act): Either.Either<Balance.Balance, GrantTooLarge> {
    return this.change(Balance.grant(this.balance(act.accountId), act))
  }

  /** Takes back credits that were granted by mistake. */
  correct(act: Balance.Act): Either.Either<Balance.Balance, CorrectionTooLarge> {
    return this.change(Balance.correct(this.balance(act.accountId), act))
  }

  /**
   * Finds the answer stored under the hold's idempotency key. Callers look for it before they check
   * the balance, because a replay needs no credits.
   */
  private storedAnswer(
    hold: Hold,
    now: number,
  ): Either.Either<Option.Option<string>, IdempotencyKeyReused | IdempotencyKeyInUse> {
    const record = this.keyOf(hold)
    // A stored answer is replayed until it is deleted, whatever the clock says.
    const isOver = record?.answer === null && record.expiresAt <= now + this.leaseClockAheadMs
    if (record === undefined || isOver) return nothingStored
    if (record.fingerprint !== hold.idempotencyKey?.fingerprint) {
      return Either.left(new IdempotencyKeyReused())
    }
    if (record.answer !== null) return Either.right(Option.some(record.answer))
    return record.requestId === hold.requestId
      ? nothingStored
      : Either.left(new IdempotencyKeyInUse())
  }

  private reserve(
    hold: Hold,
    heldAt: number,
  ): Either.Either<Balance.Balance, InsufficientCredits | LimitExceeded | BudgetExceeded> {
    const { accountId, amount, limit } = hold
    if (limit !== undefined && amount > limit) {
      return Either.left(new LimitExceeded({ required: amount, limit }))
    }
    const held = Balance.hold(this.balance(accountId), amount)
    const refusal = this.budgets.refusalOf(hold, heldAt)
    return refusal === undefined || Either.isLeft(held) ? held : Either.left(refusal)
  }

  private leaseEnd(now: number): number {
    return now + this.leaseClockAheadMs + this.leaseMs
  }

  private ownsItsKey(hold: Hold): boolean {
    return hold.idempotencyKey === undefined || this.keyOf(hold)?.requestId === hold.requestId
  }

  private keyOf({ accountId, idempotencyKey }: Hold): KeyRecord | undefined {
    return idempotencyKey === undefined
      ? undefined
      : this.keys.get(idOf(accountId, idempotencyKey.key))
  }

  private end(hold: OpenHold, balance: Balance.Balance, charge: number) {
    this.setBalance(hold.accountId, balance)
    this.budgets.end(hold, hold.heldAt, charge)
    this.holds.delete(hold.requestId)
    if (!this.openedHolds.delete(hold.requestId)) this.endedHolds.push(hold.requestId)
  }

  private count(usage: Usage.DailyUsage) {
    const id = idOf(usage.accountId, `${usage.apiKeyId ?? ""}\u0000${usage.day}`)
    const sum = this.usage.get(id)
    this.usage.set(id, sum === undefined ? usage : Usage.add(sum, usage))
  }

  private change<E>(
    changed: Either.Either<readonly [Balance.Balance, LedgerEntry], E>,
  ): Either.Either<Balance.Balance, E> {
    return Either.map(changed, ([balance, entry]) => {
      this.setBalance(entry.accountId, balance)
      this.newEntries.push(entry)
      return balance
    })
  }

  private setBalance(account: AccountId, balance: Balance.Balance) {
    this.balances.set(account, balance)
    this.changed.add(account)
  }

  private setKey(hold: Hold, answer: string | null, expiresAt: number) {
    const { accountId, idempotencyKey, requestId } = hold
    if (idempotencyKey === undefined) return
    const { fingerprint, key } = idempotencyKey
    const record = { accountId, key, fingerprint, requestId, answer, expiresAt }
    this.keys.set(idOf(accountId, key), record)
    this.changedKeys.set(idOf(accountId, key), record)
  }

  /** Forgets an expired key. */
  deleteKey({ accountId, key }: KeyRecord) {
    this.keys.delete(idOf(accountId, key))
    this.changedKeys.set(idOf(accountId, key), { accountId, key })
  }
}

// Neither an account id nor an idempotency key contains U+0000, so it can separate them.
const idOf = (accountId: AccountId, key: string) => `${accountId}\u0000${key}`

const nothingStored = Either.right(Option.none<string>())
