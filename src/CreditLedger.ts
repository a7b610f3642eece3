/**
 * The port to the money. Credits are first held, then settled: charged at most what was held, the
 * rest returned. A hold whose owner is gone ends with its lease.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AccountId } from "./Account.ts"
import type { Verification } from "./ledger/Audit.ts"
import type { Balance } from "./ledger/Balance.ts"
import type { Charge, Hold, HoldExpired, InsufficientCredits } from "./ledger/Hold.ts"
import type { Credits, LedgerEntry } from "./ledger/LedgerEntry.ts"
import type { Receipt } from "./Receipts.ts"
import type { RequestId } from "./RequestId.ts"

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
