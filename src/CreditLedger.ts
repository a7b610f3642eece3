/**
 * The port to the money. Credits are first held, then settled: charged at most what was held, the
 * rest returned. A hold whose owner is gone ends with its lease.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AccountId } from "./Account.ts"
import type { Balance } from "./Balance.ts"
import type { Credits, LedgerEntry } from "./LedgerEntry.ts"
import type { Receipt } from "./Receipts.ts"
import type { RequestId } from "./RequestId.ts"

/** Credits set aside for one request. */
export interface Hold {
  readonly accountId: AccountId
  /** A request holds once, so its id is the hold's. */
  readonly requestId: RequestId
  readonly amount: Credits
}

/** What a request turned out to cost. */
export interface Charge {
  /** At most the hold's amount; 0 returns the whole hold and leaves no entry. */
  readonly amount: Credits
  /** How many checks it pays for. */
  readonly urls: number
}

export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly required: number
  readonly available: number
}> {
  override get message() {
    return `This request needs ${this.required} credits and the account has ${this.available}.`
  }
}

/**
 * The hold outlived its lease, or its request lost the idempotency key to another one: the credits
 * went back to the account, and nothing was charged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{
  readonly requestId: RequestId
}> {
  override get message() {
    return `the hold of request ${this.requestId} has ended before it was settled`
  }
}

/** What an examination of the books found; `problems` are sentences that name the place. */
export interface Verification {
  readonly accounts: number
  readonly entries: number
  readonly problems: ReadonlyArray<string>
}

/** Epoch milliseconds: `since` included, `until` not. */
export interface Period {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

export class CreditLedger extends Context.Tag("authority/CreditLedger")<
  CreditLedger,
  {
    /** The account's books as they stand. */
    readonly balance: (account: AccountId) => Effect.Effect<Balance>
    /** Sets credits aside; fails with InsufficientCredits, holding nothing. */
    readonly hold: (
      account: AccountId,
      amount: Credits,
      requestId: RequestId,
    ) => Effect.Effect<Hold, InsufficientCredits>
    /**
     * Ends a hold and keeps the receipt, if there is one, both durably once this returns; fails
     * with HoldExpired, charging and keeping nothing.
     */
    readonly settle: (
      hold: Hold,
      charge: Charge,
      receipt?: Receipt,
    ) => Effect.Effect<void, HoldExpired>
    /**
     * Holds and settles at once, for what is known beforehand, durably once this returns; fails with
     * InsufficientCredits when the whole hold is not available, charging nothing.
     */
    readonly charge: (hold: Hold, charge: Charge) => Effect.Effect<void, InsufficientCredits>
    /** Adds credits, durably once this returns. */
    readonly grant: (
      account: AccountId,
      amount: Credits,
      note: string | null,
    ) => Effect.Effect<Balance>
    /** Returns the holds whose lease is over to their accounts; tells how many there were. */
    readonly expire: Effect.Effect<number>
    /** The entries of an account, oldest first. */
    readonly statement: (account: AccountId, period: Period) => Stream.Stream<LedgerEntry>
    /** Recomputes every balance, hold and hash, in constant memory. */
    readonly verify: Effect.Effect<Verification>
  }
>() {}
