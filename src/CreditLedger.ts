/**
 * The port to the money. Credits are first held, then settled: charged at most what was held, the
 * rest returned. A hold whose owner is gone ends, at the latest with its lease. The client may name a request by an
 * idempotency key: a repeat of it gets the stored answer, and nothing is charged twice.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Option } from "effect/Option"
import type * as Stream from "effect/Stream"
import type { AccountId } from "./Account.ts"
import type { Verification } from "./ledger/Audit.ts"
import type { Balance } from "./ledger/Balance.ts"
import type { Refusal } from "./ledger/Books.ts"
import type { Charge, Hold, HoldExpired } from "./ledger/Hold.ts"
import type { Credits, LedgerEntry } from "./ledger/LedgerEntry.ts"
import type { StoreTimeout } from "./StoreTimeout.ts"

/** Epoch milliseconds: `since` included, `until` not. */
export interface Period {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * Amounts are whole credits. A change is durable once its method returns, and nobody can interrupt
 * it. Every method but `release` may die with StoreFailure; then the change may or may not stand. A
 * method that fails with StoreTimeout has waited until about a second after the Deadline.
 */
export class CreditLedger extends Context.Tag("authority/CreditLedger")<
  CreditLedger,
  {
    /** The account's books as they stand. */
    readonly balance: (account: AccountId) => Effect.Effect<Balance, StoreTimeout>
    /**
     * Sets credits aside and takes the idempotency key, if the hold has one, in one commit. Gives the
     * stored answer instead, and changes nothing, where an earlier request with the key has one. Fails
     * with InsufficientCredits, or with IdempotencyKeyReused when the key was used for another
     * question, or with IdempotencyKeyInUse when its first request has no answer yet; then nothing
     * changes either. A hold that may stand after StoreFailure or StoreTimeout is released.
     */
    readonly open: (hold: Hold) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Ends a hold: charges at most what it holds, returns the rest, and stores the answer under its
     * idempotency key for a day, in one commit. Fails with HoldExpired when the hold is over or its key
     * belongs to another request; then the hold is ended, nothing is charged and nothing stored. Dies
     * when the charge exceeds the hold.
     */
    readonly settle: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<void, HoldExpired | StoreTimeout>
    /**
     * `open` and `settle` in one commit, for what is known beforehand. It gives and fails with what
     * `open` does, and needs the whole hold to be available though it may charge less.
     */
    readonly charge: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Returns a whole hold and frees its idempotency key, in one commit. Changes nothing where the hold
     * was settled, and leaves a key that has an answer or belongs to another request. Waits past
     * the Deadline too, and is committed after every change that this process asked for before. When
     * the store fails it returns, and `expire` releases the hold as soon as the store works again.
     */
    readonly release: (hold: Hold) => Effect.Effect<void>
    /** Adds credits. Dies when the sum of all grants would no longer be exact. */
    readonly grant: (
      account: AccountId,
      amount: Credits,
      note: string | null,
    ) => Effect.Effect<Balance>
    /**
     * Ends the holds whose lease is over, whose process is gone, or whose release failed: returns
     * their credits and frees their idempotency keys. Forgets stored answers that are over. Returns
     * the number of the holds.
     */
    readonly expire: Effect.Effect<number>
    /** The entries of an account, oldest first. */
    readonly statement: (account: AccountId, period: Period) => Stream.Stream<LedgerEntry>
    /** Recomputes every balance, hold and hash, in constant memory. */
    readonly verify: Effect.Effect<Verification>
  }
>() {}
