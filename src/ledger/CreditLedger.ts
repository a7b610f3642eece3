/**
 * The port (interface) to the credits of all accounts. `open` holds credits for a request. `settle`
 * ends the hold: it charges at most the held credits and returns the rest to the account. `charge`
 * does both in one commit. A hold that nobody ends expires with its lease. A repeated request with
 * the same idempotency key gets the stored answer and is not charged again.
 *
 * `Books` contains the rules. `SqlCreditLedger` turns each call into a change, commits the changes
 * of concurrent requests together, and ends holds whose lease has expired.
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
  /** For each amount passed to `totals`, how many accounts have fewer credits available. */
  readonly accountsBelow: ReadonlyArray<number>
}

/** A period in epoch milliseconds. `since` is inclusive, `until` is exclusive. */
export interface Period {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * A ledger outside of the service's database must implement every method. The service itself never
 * calls `statement` and `verify`; only commands do, on the database's ledger.
 *
 * Amounts are whole credits. A method that changes the ledger cannot be interrupted; when it
 * succeeds, its change is durable. Every method except `release` may die with StoreFailure, and
 * then it is unknown whether the change was committed. A method that takes too long fails with
 * StoreTimeout: `balance` and `budgets` at the Deadline of the request; `open`, `settle` and
 * `charge` about one second later.
 */
export class CreditLedger extends Context.Tag("authority/CreditLedger")<
  CreditLedger,
  {
    readonly balance: (account: AccountId) => Effect.Effect<Funds, StoreTimeout>
    /**
     * Sets credits aside and takes the hold's idempotency key, if any, in one commit. When the key
     * has a stored answer, returns that answer and changes nothing. Fails, and changes nothing,
     * with LimitExceeded when the amount exceeds the hold's limit, with InsufficientCredits, with
     * BudgetExceeded when the amount does not fit into the API key's budget, with
     * IdempotencyKeyReused when the fingerprint differs from the first request's, or with
     * IdempotencyKeyInUse while the first request has no answer. After StoreFailure or StoreTimeout
     * the hold may have been committed; the ledger then releases it.
     */
    readonly open: (hold: Hold) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Ends a hold in one commit: charges the account, returns the uncharged credits, and stores the
     * answer under the hold's idempotency key for 24 hours. When the hold has already ended or
     * another request owns the key, releases the hold, charges and stores nothing, and fails with
     * HoldExpired. Dies when the charge exceeds the hold.
     */
    readonly settle: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<void, HoldExpired | StoreTimeout>
    /**
     * Does `open` and `settle` in one commit, for a charge that is known in advance. Returns and
     * fails like `open`. Fails with InsufficientCredits when the available credits do not cover the
     * hold's amount, even if the charge is lower.
     */
    readonly charge: (
      hold: Hold,
      charge: Charge,
      answer?: string | undefined,
    ) => Effect.Effect<Option<string>, Refusal | StoreTimeout>
    /**
     * Returns all credits of a hold to the account and deletes the hold's idempotency key, in one
     * commit. Does nothing when the hold was settled, and keeps a key that has an answer or belongs
     * to another request. Ignores the Deadline, and commits after all earlier changes of this
     * process. Succeeds even when the store fails; `expire` then releases the hold later.
     */
    readonly release: (hold: Hold) => Effect.Effect<void>
    /**
     * Adds credits and returns the balance. Fails with GrantTooLarge when the account's grants
     * would add up to more than 2^53 - 1 credits.
     */
    readonly grant: (
      account: AccountId,
      amount: Credits,
      note: string | null,
    ) => Effect.Effect<Funds, GrantTooLarge>
    /**
     * Takes back credits that were granted by mistake, and returns the balance with `granted`
     * reduced by `amount`. Fails with CorrectionTooLarge when fewer credits are available.
     */
    readonly correct: (
      account: AccountId,
      amount: Credits,
      note: string,
    ) => Effect.Effect<Funds, CorrectionTooLarge>
    /**
     * Returns how much of their budgets the keys have used in the current period. Leaves out keys
     * without a budget.
     */
    readonly budgets: (
      keys: ReadonlyArray<ApiKeyId>,
    ) => Effect.Effect<ReadonlyMap<ApiKeyId, Spent>, StoreTimeout>
    /**
     * Releases every hold whose lease has ended, with its idempotency key, and deletes expired
     * stored answers. Returns the number of released holds.
     */
    readonly expire: Effect.Effect<number>
    /**
     * Sums the held credits of all accounts. For each of `amounts`, counts the accounts that have
     * fewer credits available.
     */
    readonly totals: (amounts: ReadonlyArray<Credits>) => Effect.Effect<Totals>
    /** Streams the entries of an account, oldest first. */
    readonly statement: (account: AccountId, period: Period) => Stream.Stream<StatementEntry>
    /**
     * Lists at most `limit` entries of an account, newest first; with `before`, only entries with a
     * lower sequence.
     */
    readonly recent: (
      account: AccountId,
      page: { readonly limit: number; readonly before?: number | undefined },
    ) => Effect.Effect<ReadonlyArray<StatementEntry>>
    /**
     * Sums the usage of settled and charged requests by the UTC day of their commit. Rows by day
     * are ordered by day, and `limit` keeps the newest; other rows are ordered by credits, most
     * first. The time it takes does not depend on the number of entries.
     */
    readonly usage: (question: Usage.Question) => Effect.Effect<ReadonlyArray<Usage.Row>>
    /**
     * Recomputes every balance and hash from the entries, and every account's held credits from its
     * open holds, in constant memory. Returns the problems found. A ledger that is audited
     * elsewhere returns no accounts, entries or problems.
     */
    readonly verify: Effect.Effect<Verification>
  }
>() {}
