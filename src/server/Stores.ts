/** The stores that the service needs, and their versions in memory for tests. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Accounts } from "../Account.ts"
import type { ApiKeys } from "../ApiKeys.ts"
import type { CreditLedger } from "../CreditLedger.ts"
import type { Health } from "../Health.ts"
import * as MemoryAccounts from "../memory/Accounts.ts"
import * as MemoryApiKeys from "../memory/ApiKeys.ts"
import * as MemoryCreditLedger from "../memory/CreditLedger.ts"
import * as MemoryHealth from "../memory/Health.ts"
import * as MemoryMetricsCache from "../memory/MetricsCache.ts"
import type { MetricsCache } from "../MetricsCache.ts"
import * as Settings from "../Settings.ts"

/** All stores of the service. */
export type Stores = Accounts | ApiKeys | CreditLedger | Health | MetricsCache

/**
 * The lease of a hold is the request timeout plus this time, so that a request on a slow disk can
 * still settle its hold.
 */
const settleTime = Duration.seconds(30)

/**
 * Returns the longest lifetime of a hold. The holds of a dead process are usually released earlier.
 */
export const lease = ({ requestTimeout }: Settings.Settings["Type"]) =>
  Duration.sum(requestTimeout, settleTime)

/** Stores in memory, for tests. Their content is lost when the process ends. */
export const inMemory: Layer.Layer<Stores, never, Settings.Settings> = Layer.mergeAll(
  MemoryAccounts.layer,
  MemoryApiKeys.layer,
  MemoryHealth.layer,
  MemoryMetricsCache.layer,
  Layer.unwrapEffect(
    Effect.map(Settings.Settings, (settings) =>
      MemoryCreditLedger.layer({ lease: lease(settings) }),
    ),
  ),
)
