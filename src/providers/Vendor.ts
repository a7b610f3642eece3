/**
 * A vendor of figures, as its adapter describes it: it takes a limited number of targets per call.
 * Each adapter is one file in `vendors`; `Composed` adds the queue and the cache.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Outcome } from "../check/Metrics.ts"
import type { ProviderError, ProviderStatus } from "./MetricsProvider.ts"
import type { Target } from "../check/Target.ts"
import * as Settings from "../Settings.ts"

export interface Answer {
  /** One outcome for each target, in the order of the targets. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly rows: number
  /** In the vendor's currency; undefined if the vendor does not report the cost. */
  readonly cost: number | undefined
}

/** On whose behalf a call is made. An adapter can ignore it. */
export interface CallContext {
  /** The account that all the targets belong to; undefined if they belong to several. */
  readonly account: string | undefined
  readonly requestIds: ReadonlyArray<string>
}

export class Vendor extends Context.Tag("authority/Vendor")<
  Vendor,
  {
    readonly name: string
    /** Maximum number of targets in one call; `Infinity` for no limit. */
    readonly batchSize: number
    /** Calls stop after this many 4xx answers within five minutes; `Infinity` for no limit. */
    readonly maxRefusals: number
    /** True when the vendor bills a row for a target that it does not know. */
    readonly billsUnknown: boolean
    readonly call: (
      targets: NonEmptyReadonlyArray<Target>,
      context: CallContext,
    ) => Effect.Effect<Answer, ProviderError>
    /** Asks for the vendor's state, free of charge. The state is empty if there is no free call. */
    readonly status: Effect.Effect<ProviderStatus, ProviderError>
  }
>() {}

/** A vendor whose answers do not say what they cost: each target counts as one row. */
export interface Definition {
  readonly name: string
  readonly batchSize?: number
  readonly lookup: (
    targets: NonEmptyReadonlyArray<Target>,
  ) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>
  readonly status?: Effect.Effect<ProviderStatus, ProviderError>
}

export const vendor = (definition: Definition): Layer.Layer<Vendor> =>
  Layer.succeed(Vendor, {
    name: definition.name,
    batchSize: definition.batchSize ?? Number.POSITIVE_INFINITY,
    maxRefusals: Number.POSITIVE_INFINITY,
    billsUnknown: true,
    call: (targets) =>
      Effect.map(definition.lookup(targets), (outcomes) => ({
        outcomes,
        rows: targets.length,
        cost: undefined,
      })),
    status: definition.status ?? Effect.succeed({}),
  })

type Values = Settings.Settings["Type"]

/** What a vendor's file exports as `adapter`, so that the program can use the vendor. */
export interface Adapter {
  readonly fromSettings: (
    settings: Values,
  ) => Effect.Effect<Layer.Layer<Vendor>, ProviderNotConfigured>
  /** What the vendor charges for the figures of one domain, in words. */
  readonly price: string
  /** The optional fields in an answer for a well-known domain. */
  readonly gives: ReadonlyArray<"spam_score" | "as_of">
  /** True if `status` does not contact the vendor. */
  readonly hasNoFreeCall?: boolean
}

export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

export const required = <Key extends keyof Values>(
  settings: Values,
  key: Key,
): Effect.Effect<NonNullable<Values[Key]>, ProviderNotConfigured> => {
  const value = settings[key]
  return value === undefined
    ? new ProviderNotConfigured({
        message: `${Settings.all[key].about.name} is not set, but the provider needs it; set it, or choose another AUTHORITY_PROVIDER`,
      })
    : Effect.succeed(value)
}
