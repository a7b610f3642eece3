/**
 * The port to the credits of all accounts. A request first holds credits. Settling the hold charges
 * at most the hold's amount and returns the uncharged credits. When the process that opened a hold
 * dies, the hold ends at the end of its lease or earlier. A repeated request with the same
 * idempotency key gets the stored answer and is not charged again.
 *
 * The rules are in `ledger/Books`. `open` and `charge` first look for a stored answer of the key.
 * `settle` and `charge` charge the credits and store the answer. `sql/CreditLedger` submits these
 * changes, and `sql/LedgerCommit` writes the result. `sql/Heartbeat` detects dead processes.
 * `server/sweeper` calls `sql/HoldExpiry`, which ends the holds of dead processes.
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
import type { Credits } from "./ledger/Credits.ts"
import type { LedgerEntry } from "./ledger/LedgerEntry.ts"
import type { StoreTimeout } from "./StoreTimeout.ts"

/** Sums over all accounts, for monitoring. */
export interface Totals {
  readonly held: Credits
  /** For each amount passed to `totals`: how many accounts have fewer credits available. */
  readonly accountsBelow: ReadonlyArray<number>
}

/** A period in epoch milliseconds. `since` is inclusive, `until` is exclusive. */
export interface Period {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * Amounts are whole credits. A change is durable when its method returns, and cannot be
 * interrupted. Every method except `release` may die with StoreFailure. After a StoreFailure it is
 * unknown whether the change was committed. `open`, `settle` and `charge` fail with StoreTimeout
 * about one second after the Deadline, `balance` at the Deadline.
 */
export class CreditLedger extends Context.Tag("authority/CreditLedger")<
  CreditLedger,
  {
    /** Returns the account's current balance. */
    readonly balance: (account: AccountId) => Effect.Effect<Balance, StoreTimeout>
    /**
     * Sets credits aside and takes the hold's idempotency key, if any, in one commit. When the key
     * has a stored answer, returns that answer instead. Fails with InsufficientCredits, with
     * IdempotencyKeyReused when the key was used for other URLs, or with IdempotencyKeyInUse when
     * the first request with the key has no answer yet. In these cases nothing changes. After
     * StoreFailure or StoreTimeout the ledger releases the hold if the hold was committed.
     */
    readonly open: (hold: Hold) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Ends a hold in one commit: charges the credits, returns the uncharged credits of the hold,
     * and stores the answer under the hold's idempotency key for 24 hours. When the hold has ended
     * or another request owns the key, `settle` releases the hold, charges nothing, stores nothing
     * and fails with HoldExpired. Dies when the charge exceeds the hold.
     */
    readonly settle: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<void, HoldExpired | StoreTimeout>
    /**
     * Does `open` and `settle` in one commit, for a charge that is known in advance. Returns and
     * fails like `open`. Fails with InsufficientCredits when fewer credits than the hold's amount
     * are available, even if the charge is lower.
     */
    readonly charge: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Returns all credits of a hold and frees its idempotency key, in one commit. Does nothing when
     * the hold was settled. Keeps a key that has an answer or belongs to another request. Ignores
     * the Deadline, and commits after all earlier changes of this process. When the store fails,
     * `release` returns nevertheless, and `expire` releases the hold later.
     */
    readonly release: (hold: Hold) => Effect.Effect<void>
    /** Adds credits and returns the balance. Dies when the sum of grants exceeds 2^53 - 1. */
    readonly grant: (
      account: AccountId,
      amount: Credits,
      note: string | null,
    ) => Effect.Effect<Balance>
    /**
     * Releases every hold whose lease has ended, whose process has died or whose release failed,
     * and frees their idempotency keys. Deletes expired stored answers. Returns the number of
     * released holds.
     */
    readonly expire: Effect.Effect<number>
    /** Adds up the balances of all accounts. `amounts` are in credits. */
    readonly totals: (amounts: ReadonlyArray<Credits>) => Effect.Effect<Totals>
    /** Streams the entries of an account, oldest first. */
    readonly statement: (account: AccountId, period: Period) => Stream.Stream<LedgerEntry>
    /**
     * Recomputes every balance and hash from the entries, and every account's held credits from its
     * open holds, in constant memory. Returns the problems found.
     */
    readonly verify: Effect.Effect<Verification>
  }
>() {}
