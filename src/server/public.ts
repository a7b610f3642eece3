/**
 * `authority-metrics/server`: runs the service in your own program, with your own provider or
 * stores, on Node 22.14 or newer, or on Deno.
 *
 * Within a major version, the names below, their types, their documented behaviour, and the
 * settings on the guide's page about operating do not change. Everything else in the package may.
 * You may call and implement the ports. A minor version may add optional fields to what the methods
 * of a port take.
 */
import "../nodeVersion.ts"

export {
  type CannotStart,
  type Given,
  layer,
  newKey,
  type Options,
  run,
  Service,
} from "./Service.ts"
export { inDatabase, inMemory, type Stores } from "./Stores.ts"

export { Account, AccountExists, AccountId, AccountName } from "../accounts/Account.ts"
export { AccountNotFound, Accounts } from "../accounts/Account.ts"
export * as ApiKey from "../accounts/ApiKey.ts"
export { type AccountKey, ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../accounts/ApiKeys.ts"
export type { RevokedKey } from "../accounts/ApiKeys.ts"
export { AuditLog } from "../accounts/AuditLog.ts"
export { CreditLedger, type Period, type Totals } from "../ledger/CreditLedger.ts"
export { remainingMs } from "../check/Deadline.ts"
export { Health, type StoreState } from "../database/Health.ts"
export type { Verification } from "../ledger/verification/Audit.ts"
export { Funds } from "../ledger/Balance.ts"
export { type Budget, BudgetExceeded, type Spent } from "../ledger/budgets/Budget.ts"
export type { Refusal } from "../ledger/Books.ts"
export { Credits } from "../ledger/Credits.ts"
export {
  type Charge,
  CorrectionTooLarge,
  GrantTooLarge,
  type Hold,
  HoldExpired,
  InsufficientCredits,
  LimitExceeded,
} from "../ledger/Hold.ts"
export { type IdempotencyKey, IdempotencyKeyInUse, IdempotencyKeyReused } from "../ledger/Hold.ts"
export { StatementEntry } from "../ledger/LedgerEntry.ts"
export type { Question as UsageQuestion, Row as UsageRow, Usage } from "../ledger/usage/Usage.ts"
export { type Figures, MetricsCache } from "../providers/figures/MetricsCache.ts"
export { QuoteSecret } from "../agents/QuoteSecret.ts"
export { Costs } from "../providers/costs/Costs.ts"
export { RequestId } from "../check/RequestId.ts"
export { Settings } from "../Settings.ts"
export { StoreFailure } from "../database/StoreFailure.ts"
export { StoreTimeout } from "../ledger/StoreTimeout.ts"
