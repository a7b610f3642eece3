/** The port to whoever sells the figures. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { NonEmptyReadonlyArray } from "effect/Array"
import type { Outcome } from "./Metrics.ts"
import type { Target } from "./Target.ts"

/**
 * A whole call to a provider came to nothing.
 *
 * - `Unreachable`: no connection, or it broke
 * - `Timeout`: no answer in time
 * - `Throttled`: the provider asks to slow down
 * - `Unavailable`: the provider says that it is broken (5xx)
 * - `Refused`: the provider will not answer this call or this caller (other 4xx); asking again the
 *   same way does no good
 * - `Malformed`: the answer is not what the provider documents
 */
export class ProviderError extends Data.TaggedError("ProviderError")<{
  readonly provider: string
  readonly reason: "Unreachable" | "Timeout" | "Throttled" | "Unavailable" | "Refused" | "Malformed"
  readonly detail: string
  /** How long the provider asks to be left alone, when it says so. */
  readonly retryAfter?: Duration.Duration
}> {
  override get message() {
    return `${this.provider}: ${this.reason}: ${this.detail}`
  }
}

/** What a subscription allows in its present period. */
export interface Quota {
  /** What is counted, in the vendor's word. */
  readonly unit: string
  readonly allotted: number
  readonly used: number
  /** Epoch milliseconds, when the vendor tells. */
  readonly resetsAt: number | null
}

/** Whether a vendor that has failed again and again is being left alone for a while. */
export interface Circuit {
  /** The vendor's name, of a chain of them too. */
  readonly provider: string
  /** Why it is not asked at present; undefined when it is. */
  readonly openReason: string | undefined
}

/** The method `known` of a provider without a memory. */
export const nothingKnown: MetricsProvider["Type"]["known"] = () => Effect.succeedNone

export class MetricsProvider extends Context.Tag("authority/MetricsProvider")<
  MetricsProvider,
  {
    /** As in the setting AUTHORITY_PROVIDER; for logs and counters. */
    readonly name: string
    /**
     * One outcome for each target, in the order of the targets, which are distinct. What fails for
     * one target is its outcome; fails with ProviderError when the provider gave none at all.
     */
    readonly lookup: (
      targets: NonEmptyReadonlyArray<Target>,
    ) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>
    /**
     * The outcomes of all targets, in their order, where nobody has to be asked; none otherwise. They
     * count as cache hits.
     */
    readonly known: (
      targets: NonEmptyReadonlyArray<Target>,
    ) => Effect.Effect<Option.Option<ReadonlyArray<Outcome>>>
    /** How many targets one call to the provider takes; absent where there is no such limit. */
    readonly batchSize?: number
    /** What is left of the subscription; absent where there is none. Free of charge. */
    readonly quota?: Effect.Effect<Quota, ProviderError>
    /** Of each vendor that is behind this; absent where none is. Nobody is asked for it. */
    readonly circuits?: Effect.Effect<ReadonlyArray<Circuit>>
  }
>() {}
