/**
 * The port (interface) to the credits of all accounts. `open` holds credits for a request. `settle`
 * ends the hold: it charges at most the held credits, and gives the other held credits back to the
 * account. `charge` does both in one commit. A hold that nobody ends is over with its lease. A
 * repeated request with the same idempotency key gets the stored answer and is not charged again.
 *
 * `Books` has the rules of these methods. `SqlCreditLedger` makes a change of each call, commits
 * the changes of concurrent requests together, and ends the holds whose lease is over.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Option } from "effect/Option"
import type * as Stream from "effect/Stream"
import type { AccountId } from "../accounts/Account.ts"
import type { ApiKeyId } from "../accounts/ApiKey.ts"
import type { Verification } from "./verification/Audit.ts"
import type { Funds } from "./Balance.ts"
import type { Refusal } from "./Books.ts"
import type { Spent } from "./budgets/Budget.ts"
import type { Charge, CorrectionTooLarge, GrantTooLarge, Hold, HoldExpired } from "./Hold.ts"
import type { Credits } from "./Credits.ts"
import type { StatementEntry } from "./LedgerEntry.ts"
import type * as Usage from "./usage/Usage.ts"
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
 * A ledger that is not in the service's database implements all methods. The service calls every
 * method but `statement` and `verify`, which only verbs of the CLI call, on the database's ledger.
 *
 * Amounts are whole credits. A method that changes the ledger cannot be interrupted; when it
 * succeeds, its change is durable. Every method except `release` may die with StoreFailure. After a
 * StoreFailure it is unknown whether the change was committed. A method that takes too long fails
 * with StoreTimeout: `balance` and `budgets` at the Deadline of the request, `open`, `settle` and
 * `charge` about one second after the Deadline.
 */
export class CreditLedger extends Context.Tag("authority/CreditLedger")<
  CreditLedger,
  {
    readonly balance: (account: AccountId) => Effect.Effect<Funds, StoreTimeout>
    /**
     * Sets credits aside and takes the idempotency key of the hold, if any, in one commit. When the
     * key has a stored answer, returns that answer and changes nothing. Fails with LimitExceeded
     * when the amount is above the hold's limit, with InsufficientCredits, with BudgetExceeded
     * when the amount does not fit into the budget of the hold's API key, with IdempotencyKeyReused
     * when the key was used for other URLs, or with IdempotencyKeyInUse when the first request with
     * the key has no answer yet. These errors change nothing. When `open` ends with StoreFailure or
     * StoreTimeout, the hold may have been committed nevertheless. In that case the ledger releases
     * the hold.
     */
    readonly open: (hold: Hold) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Ends a hold in one commit: charges the account, gives the uncharged credits of the hold back,
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
     * Gives all credits of a hold back to the account and deletes the idempotency key of the hold,
     * in one commit. Does nothing when the hold was settled. Does not delete a key that has an
     * answer or belongs to another request. Ignores the Deadline, and commits after all earlier
     * changes of this process. Succeeds even when the store fails; `expire` then releases the hold
     * later.
     */
    readonly release: (hold: Hold) => Effect.Effect<void>
    /**
     * Adds credits and returns the balance. Fails with GrantTooLarge when the sum of grants exceeds
     * 2^53 - 1.
     */
    readonly grant: (
      account: AccountId,
      amount: Credits,
      note: string | null,
    ) => Effect.Effect<Funds, GrantTooLarge>
    /**
     * Takes away credits that were granted by mistake, and returns the balance: `granted` is lower
     * by `amount`. Fails with CorrectionTooLarge when fewer credits are neither charged nor held.
     */
    readonly correct: (
      account: AccountId,
      amount: Credits,
      note: string,
    ) => Effect.Effect<Funds, CorrectionTooLarge>
    /**
     * What the keys have used of their budgets in the current period. Keys without a budget are
     * left out.
     */
    readonly budgets: (
      keys: ReadonlyArray<ApiKeyId>,
    ) => Effect.Effect<ReadonlyMap<ApiKeyId, Spent>, StoreTimeout>
    /**
     * Releases every hold whose lease has ended, and deletes the idempotency keys of these holds.
     * Deletes expired stored answers. Returns the number of released holds.
     */
    readonly expire: Effect.Effect<number>
    /**
     * Sums the held credits of all accounts. For each of the `amounts`, in credits, counts the
     * accounts with fewer available credits.
     */
    readonly totals: (amounts: ReadonlyArray<Credits>) => Effect.Effect<Totals>
    /** Streams the entries of an account, oldest first. */
    readonly statement: (account: AccountId, period: Period) => Stream.Stream<StatementEntry>
    /**
     * Lists entries of an account, newest first: at most `limit`, and only those with a sequence
     * below `before`.
     */
    readonly recent: (
      account: AccountId,
      page: { readonly limit: number; readonly before?: number | undefined },
    ) => Effect.Effect<ReadonlyArray<StatementEntry>>
    /**
     * Sums what settled and charged requests used, by the UTC day of their commit. Rows by day are
     * ordered by day, and `limit` keeps the newest; other rows are ordered by credits, most first.
     * Takes equally long however many entries there are.
     */
    readonly usage: (question: Usage.Question) => Effect.Effect<ReadonlyArray<Usage.Row>>
    /**
     * Recomputes every balance and hash from the entries, and every account's held credits from its
     * open holds, in constant memory. Returns the problems found. A ledger with an audit of its own
     * returns no accounts, entries and problems.
     */
    readonly verify: Effect.Effect<Verification>
  }
>() {}
