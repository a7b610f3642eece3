/** The stores that the service needs, and those that live in memory. */
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

/** What the service stores. */
export type Stores = Accounts | ApiKeys | CreditLedger | Health | MetricsCache

/** A lease lasts for the request timeout and this time, which settles the hold on a slow disk. */
const settleTime = Duration.seconds(30)

/** How long a hold outlives its owner. */
export const lease = ({ requestTimeout }: Settings.Settings["Type"]) =>
  Duration.sum(requestTimeout, settleTime)

/** Stores that the process forgets when it ends, for tests. */
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
