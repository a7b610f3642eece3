/**
 * Circuit breaker for one vendor. After several failures in a row, the circuit opens and calls fail
 * at once. After the cooldown, one trial call goes through. If the trial call succeeds, the circuit
 * closes. The circuit also opens when the vendor has refused too many calls within a certain time,
 * because some vendors then throttle the whole account.
 *
 * A provider whose quota or ceiling is used up is exhausted. It is not asked until the period that it names
 * ends, or for ten minutes. Then one trial call goes through.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Circuit, ProviderError } from "../MetricsProvider.ts"
import { type Blame, isRefusal } from "./Blame.ts"
import type { Limit } from "./Limit.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"

export interface Options {
  /** Opens the circuit after this many failures in a row. */
  readonly failures: number
  /**
   * How long the circuit stays open before a trial call. If the last error has a longer
   * `retryAfter`, the circuit stays open for that time instead.
   */
  readonly cooldown: Duration.DurationInput
  /**
   * Keeps the circuit open while at least `max` calls have failed with a 4xx status
   * within the time `per`, counted back from now. Calls in flight may be refused too: with them,
   * there are never more than `tolerated`.
   */
  readonly refusals?: {
    readonly max: number
    readonly tolerated: number
    readonly per: Duration.DurationInput
  }
  readonly limit: Limit
  /** Failures of one account do not open the circuit while the vendor answers others. */
  readonly blame: Blame
}

export interface Vendor {
  readonly name: string
  /**
   * Asks the vendor, free of charge, in how many milliseconds a used-up quota is renewed. None when
   * the vendor does not say, or when its quota is not used up.
   */
  readonly renewalMs: Effect.Effect<Option.Option<number>>
}

/** The circuit is open, so no call was made. `message` says why. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{
  readonly message: string
  readonly isExhausted: boolean
}> {}

export interface CircuitBreaker {
  /**
   * Runs the call for so many targets when the circuit is closed or a trial is due. Otherwise fails
   * with CircuitOpen.
   */
  readonly guard: <A>(
    call: Effect.Effect<A, ProviderError>,
    targets: number,
  ) => Effect.Effect<A, ProviderError | CircuitOpen>
  readonly state: Effect.Effect<Pick<Circuit, "openReason" | "isExhausted">>
}

/**
 * Makes a breaker with a closed circuit. The state is in memory: each process has its own circuit.
 */
export const make = (options: Options, vendor: Vendor): CircuitBreaker => {
  const refusals = {
    max: options.refusals?.max ?? Number.POSITIVE_INFINITY,
    tolerated: options.refusals?.tolerated ?? Number.POSITIVE_INFINITY,
    per: Duration.decode(options.refusals?.per ?? 0),
    /**
     * The times at which the vendor refused or throttled calls, oldest first. They are times of
     * `MonotonicClock.now`, in milliseconds.
     */
    times: new Array<number>(),
  }
  let failures = 0
  let isExhausted = false
  let exhaustion = ""
  let nextTrialAt = Number.NEGATIVE_INFINITY
  let isTrying = false
  let inFlight = 0

  // Returns why the circuit is open at the time `now`, or undefined when a call may go through.
  // `now` is a time of `MonotonicClock.now`, in milliseconds.
  const openReason = (now: number): string | undefined => {
    const isClosed = now >= nextTrialAt && !isTrying
    if (isExhausted && !isClosed) return exhaustion
    while ((refusals.times[0] ?? now) < now - Duration.toMillis(refusals.per))
      refusals.times.shift()
    options.limit.tolerate(refusals.tolerated - refusals.times.length)
    if (refusals.times.length >= refusals.max) {
      return `the provider refused ${refusals.times.length} calls in the last ${Duration.format(refusals.per)}`
    }
    if (failures < options.failures || !options.blame.isVendors(now)) return undefined
    return isClosed ? undefined : `${failures} calls in a row have failed`
  }

  const askForRenewal = Effect.flatMap(vendor.renewalMs, (renewal) =>
    Effect.map(MonotonicClock.now, (now) => {
      if (isExhausted && Option.isSome(renewal)) nextTrialAt = now + renewal.value
    }),
  )

  const exhausted = ({ isUnsent, message, retryAfter }: ProviderError, now: number) => {
    const named = Duration.toMillis(retryAfter ?? 0)
    const isNew = !isExhausted
    isExhausted = true
    exhaustion = isUnsent === true ? "its ceiling is reached" : "its quota is used up"
    nextTrialAt = now + (named > 0 ? named : exhaustedMs)
    return Effect.zipRight(
      isNew
        ? Effect.logWarning(
            "A provider is exhausted: its quota or its ceiling is used up, or a payment is due. For some time the provider is not asked, and URLs get PROVIDER_ERROR, unless another provider answers. To continue at once, pay or buy more or raise the ceiling, and restart the service.",
            message,
          )
        : Effect.void,
      named > 0 ? Effect.void : Effect.forkDaemon(askForRenewal),
    )
  }

  const failed = (error: ProviderError, targets: number, now: number, isTrial: boolean) => {
    const isUnsent = error.isUnsent === true
    if (isRefusal.has(error.reason) && !isUnsent) refusals.times.push(now)
    // A call that began before the provider was exhausted says nothing new.
    if (isExhausted && !isTrial) return Effect.void
    if (error.reason === "Exhausted") return exhausted(error, now)
    if (isUnsent) return Effect.void
    // One target of the call may be at fault. The calls for its halves find that out.
    if (error.reason !== "Rejected" || targets === 1) failures += 1
    const pauses = [options.cooldown, error.retryAfter ?? 0].map((_) => Duration.toMillis(_))
    nextTrialAt = now + Math.max(...pauses)
    if (failures >= options.failures && options.blame.isVendors(now)) options.blame.forget()
    return Effect.void
  }

  const succeeded = (isTrial: boolean) => {
    if (isExhausted && !isTrial) return Effect.void
    const isRenewed = isExhausted
    failures = 0
    isExhausted = false
    return isRenewed
      ? Effect.logInfo("The exhausted provider answers again.", vendor.name)
      : Effect.void
  }

  const tooMany = () =>
    refusals.times.length + inFlight < refusals.tolerated
      ? undefined
      : `the provider refused ${refusals.times.length} calls and ${inFlight} are in flight`

  const guard: CircuitBreaker["guard"] = Effect.fnUntraced(function* (call, targets) {
    const now = yield* MonotonicClock.now
    const message = openReason(now) ?? tooMany()
    if (message !== undefined) return yield* new CircuitOpen({ message, isExhausted })
    const isTrial = isExhausted || failures >= options.failures
    if (isTrial) isTrying = true
    inFlight += 1
    return yield* call.pipe(
      Effect.tapBoth({
        onSuccess: () => Effect.suspend(() => succeeded(isTrial)),
        onFailure: (error) =>
          Effect.flatMap(MonotonicClock.now, (now) => failed(error, targets, now, isTrial)),
      }),
      Effect.ensuring(
        Effect.sync(() => {
          inFlight -= 1
          if (isTrial) isTrying = false
        }),
      ),
    )
  })

  const state = Effect.map(MonotonicClock.now, (now) => {
    const reason = openReason(now)
    return { openReason: reason, isExhausted: isExhausted && reason !== undefined }
  })

  return { guard, state }
}

/** How long an exhausted provider is not asked when nobody says when its quota is renewed. */
const exhaustedMs = 600_000
