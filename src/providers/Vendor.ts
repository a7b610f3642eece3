/**
 * A vendor of figures, as its adapter describes it: one call for a limited number of targets. An
 * adapter is one file beside this one; `Composed` puts the queue and the cache around it.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Outcome } from "../check/Metrics.ts"
import type { ProviderError, ProviderStatus } from "./MetricsProvider.ts"
import type { Target } from "../check/Target.ts"

/** The answer of a vendor to one call. */
export interface Answer {
  /** One outcome for each target, in the order of the targets. */
  readonly outcomes: ReadonlyArray<Outcome>
  /** How many rows the vendor billed. */
  readonly rows: number
  /** In the vendor's currency; undefined when the vendor does not report it. */
  readonly cost: number | undefined
}

/** For whom a call is made. An adapter does not need it. */
export interface CallContext {
  /** The account whose targets these are; undefined when they are of several accounts. */
  readonly account: string | undefined
  /** The ids of the requests that wait for the answer. */
  readonly requestIds: ReadonlyArray<string>
}

export class Vendor extends Context.Tag("authority/Vendor")<
  Vendor,
  {
    /** The name that the setting AUTHORITY_PROVIDER accepts. */
    readonly name: string
    /** Maximum number of targets in one call; `Infinity` when there is no limit. */
    readonly batchSize: number
    /** So many answers with a 4xx status in five minutes stop the calls; `Infinity` for never. */
    readonly maxRefusals: number
    /** True when the vendor bills a row for a target that it does not know. */
    readonly billsUnknown: boolean
    /** Makes one call for at most `batchSize` distinct targets. */
    readonly call: (
      targets: NonEmptyReadonlyArray<Target>,
      context: CallContext,
    ) => Effect.Effect<Answer, ProviderError>
    /**
     * Asks the vendor for its state, free of charge. Succeeds when the vendor can be reached and
     * accepts the credentials. Returns an empty state when the vendor has no free call.
     */
    readonly status: Effect.Effect<ProviderStatus, ProviderError>
  }
>() {}

/** A vendor whose answers do not say what they cost: each target counts as one row. */
export interface Definition {
  readonly name: string
  /** Default: no limit. */
  readonly batchSize?: number
  /** Returns one outcome for each target, in order. */
  readonly lookup: (
    targets: NonEmptyReadonlyArray<Target>,
  ) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>
  /** Default: the vendor has no free call. */
  readonly status?: Effect.Effect<ProviderStatus, ProviderError>
}

/** Makes a vendor from its lookup. */
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
