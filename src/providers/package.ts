/**
 * `authority-metrics/provider`: the types and functions to write a provider of your own.
 *
 * Promised within a major version: the names below, their types, and the documented behaviour.
 * Everything else in the package may change. Minor versions may add optional fields to the port,
 * outcomes and options.
 */
export {
  allAsked,
  type Circuit,
  type LookupContext,
  MetricsProvider,
  nothingKnown,
  ProviderError,
  type ProviderStatus,
  type Quota,
} from "./MetricsProvider.ts"
export {
  type FailureCause,
  type FailureReason,
  type Metrics,
  Outcome,
  providerFailed,
} from "../check/Metrics.ts"
export { InvalidUrl, Target } from "../check/Target.ts"
export { chain, decorated, type Options as DecoratorOptions, undecorated } from "./Composed.ts"
export * as Fake from "./Fake.ts"
export { Vendor, vendor } from "./Vendor.ts"
