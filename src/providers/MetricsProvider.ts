/** The port to a provider of figures: domain authority, page authority and spam score of a page. */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { NonEmptyReadonlyArray } from "effect/Array"
import { type Outcome, type ProviderCause, providerFailed } from "../check/Metrics.ts"
import type { Target } from "../check/Target.ts"
import { isoTime } from "../accounts/TimeSpan.ts"

/**
 * A call to a provider failed as a whole. The reasons are:
 *
 * - `Unreachable`: the connection failed
 * - `Timeout`: no answer in time
 * - `Throttled`: the provider's rate limit was exceeded
 * - `Exhausted`: the subscription's quota or balance or the operator's ceiling is used up, or a
 *   payment is due
 * - `Unavailable`: the provider reports an internal error (5xx), or the circuit is open
 * - `Refused`: the provider refuses this caller (401, 403); a retry does not help
 * - `Rejected`: the provider rejects this call, perhaps because of one target (other 4xx)
 * - `Malformed`: the answer does not match the provider's documentation
 */
export class ProviderError extends Data.TaggedError("ProviderError")<{
  readonly provider: string
  readonly reason:
    | "Unreachable"
    | "Timeout"
    | "Throttled"
    | "Exhausted"
    | "Unavailable"
    | "Refused"
    | "Rejected"
    | "Malformed"
  readonly detail: string
  /** How long to wait before the next call; absent when the provider does not say how long. */
  readonly retryAfter?: Duration.Duration
  /** True if the service did not send the call, so the error says nothing about the vendor. */
  readonly isUnsent?: boolean
}> {
  override get message() {
    const what = this.isUnsent === true ? "was not asked" : happened[this.reason]
    return `${this.provider} ${what}: ${this.detail}`
  }
}

const happened: Readonly<Record<ProviderError["reason"], string>> = {
  Unreachable: "cannot be reached",
  Timeout: "did not answer in time",
  Throttled: "limits the rate of calls",
  Exhausted: "answered that its quota is used up",
  Unavailable: "is unavailable",
  Refused: "refused the caller",
  Rejected: "rejected the call",
  Malformed: "sent an unexpected answer",
}

export const failureOf = ({ message, reason }: ProviderError): Outcome =>
  providerFailed(message, causes[reason] ?? "failed")

const causes: Readonly<Partial<Record<ProviderError["reason"], ProviderCause>>> = {
  Timeout: "timeout",
  Exhausted: "exhausted",
}

/** Turns the error of a whole lookup into a failed outcome for each target, and logs the error. */
export const failuresOf = (targets: ReadonlyArray<Target>) =>
  Effect.catchAll((error: ProviderError) =>
    Effect.as(
      Effect.logWarning(
        "The provider failed to look up figures. The affected URLs get PROVIDER_ERROR, unless another provider answers. If this message repeats, run 'authority doctor'.",
        error.message,
      ),
      targets.map(() => failureOf(error)),
    ),
  )

export const logBug = (cause: Cause.Cause<unknown>) =>
  Effect.logError(
    "A bug made a lookup of figures fail. The affected URLs got SERVER_ERROR and were not charged. Please report the stack trace in the field 'cause'.",
    cause,
  )

/** What a subscription still covers in its current period. */
export interface Quota {
  /** The unit that the vendor counts, in its own terms, such as `rows`. */
  readonly unit: string
  readonly allotted: number
  /** At 0 or below, the vendor answers no more lookups, unless `allowsOverage` is true. */
  readonly left: number
  /** True if the vendor still answers once `allotted` is used up, and bills the excess. */
  readonly allowsOverage?: boolean | undefined
  /** When the current period ends, in epoch milliseconds; null if the vendor does not say. */
  readonly resetsAt: number | null
}

export const quotaDocumentOf = (quota: Quota | undefined) =>
  quota === undefined
    ? null
    : {
        unit: quota.unit,
        allotted: quota.allotted,
        left: quota.left,
        resetsAt: isoTime(quota.resetsAt),
      }

/** What a vendor reports about itself and the subscription, free of charge. */
export interface ProviderStatus {
  readonly quota?: Quota | undefined
  /** The name or date of the vendor's current index; absent if the vendor does not report it. */
  readonly index?: string | undefined
}

export interface Circuit {
  readonly provider: string
  readonly openReason: string | undefined
  readonly isExhausted: boolean
  /** True during a pause that the vendor asked for, as far as this process knows. */
  readonly isPaused: boolean
  readonly calls: Calls
  readonly status: Effect.Effect<ProviderStatus, ProviderError>
}

/** Why calls to a vendor are stopped; undefined if they are not. */
export const reasonOf = ({ isPaused, openReason }: Circuit): string | undefined =>
  openReason ?? (isPaused ? "the provider asked for a pause" : undefined)

/** Asks a vendor for its state, for at most 10 seconds. */
export const statusInTime = ({
  provider,
  status,
}: Pick<Circuit, "provider" | "status">): Effect.Effect<ProviderStatus, ProviderError> =>
  Effect.timeoutFail(status, {
    duration: "10 seconds",
    onTimeout: () =>
      new ProviderError({ provider, reason: "Timeout", detail: "no answer in 10 s" }),
  })

export interface Calls {
  readonly inFlight: number
  readonly limit: number
  /** The average duration of the latest calls, in milliseconds; null before the first call. */
  readonly latencyMs: number | null
  /** The last ten failed calls, newest first. `at` is in epoch milliseconds. */
  readonly errors: ReadonlyArray<{
    readonly at: number
    readonly reason: ProviderError["reason"]
    readonly message: string
  }>
}

/**
 * What a lookup would do with a target: return figures that are `known`, ask the vendor (`asked`),
 * or fail without asking (`failed`), because the vendor recently refused the target or did not know
 * it.
 */
export type Prospect = "known" | "asked" | "failed"

/** The method `known` of a provider without a cache: it always returns none. */
export const nothingKnown: MetricsProvider["Type"]["known"] = () => Effect.succeedNone

/** The method `prospects` of a provider without a cache: it asks the vendor for every target. */
export const allAsked: MetricsProvider["Type"]["prospects"] = (targets) =>
  Effect.succeed(targets.map(() => "asked"))

export interface LookupContext {
  /** The account's id. Accounts take turns at a vendor. */
  readonly account: string
  /** A time of `MonotonicClock`, in milliseconds, when the lookup returns the outcomes it has. */
  readonly deadline: number
  /** The greatest age of known figures that the caller accepts, in milliseconds. */
  readonly maxAgeMs: number
  readonly requestId: string
  readonly charged: number
}

export class MetricsProvider extends Context.Tag("authority/MetricsProvider")<
  MetricsProvider,
  {
    /** The name in logs and metrics; for a built-in provider, the one in AUTHORITY_PROVIDER. */
    readonly name: string
    /**
     * Returns one outcome for each target, in order. The targets must be distinct. A target that
     * fails gets a failed outcome. Fails with ProviderError when the whole lookup fails.
     */
    readonly lookup: (
      targets: NonEmptyReadonlyArray<Target>,
      context: LookupContext,
    ) => Effect.Effect<ReadonlyArray<Outcome>, ProviderError>
    /**
     * Returns the outcomes of all targets, in order, and counts a cache hit for each target.
     * Returns none when at least one target is not in the cache.
     */
    readonly known: (
      targets: NonEmptyReadonlyArray<Target>,
    ) => Effect.Effect<Option.Option<ReadonlyArray<Outcome>>>
    /**
     * Returns, for each target in order, what a lookup would do for a caller that accepts figures
     * up to `maxAgeMs` old. Counts no cache hits.
     */
    readonly prospects: (
      targets: NonEmptyReadonlyArray<Target>,
      maxAgeMs?: number,
    ) => Effect.Effect<ReadonlyArray<Prospect>>
    /** Returns the circuits of all vendors behind this provider, without calling them. */
    readonly circuits: Effect.Effect<ReadonlyArray<Circuit>>
  }
>() {}
