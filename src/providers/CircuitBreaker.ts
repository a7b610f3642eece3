/**
 * Circuit breaker for one vendor. After several failures in a row, the circuit opens and calls fail
 * at once. After the cooldown, one trial call goes through. If the trial call succeeds, the circuit
 * closes. The circuit also opens when the vendor has refused too many calls within a certain time,
 * because some vendors then throttle the whole account.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ProviderError } from "../MetricsProvider.ts"
import type { Blame } from "./Blame.ts"
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

/** The circuit is open, so no call was made. `message` says why. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{ readonly message: string }> {}

export interface CircuitBreaker {
  /**
   * Runs the call for so many targets when the circuit is closed or a trial is due. Otherwise fails
   * with CircuitOpen.
   */
  readonly guard: <A>(
    call: Effect.Effect<A, ProviderError>,
    targets: number,
  ) => Effect.Effect<A, ProviderError | CircuitOpen>
  /** Why the circuit is open now; undefined when the next call goes through. */
  readonly openReason: Effect.Effect<string | undefined>
}

/**
 * Makes a breaker with a closed circuit. The state is in memory: each process has its own circuit.
 */
export const make = (options: Options): CircuitBreaker => {
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
  let nextTrialAt = Number.NEGATIVE_INFINITY
  let isTrying = false
  let inFlight = 0

  // Returns why the circuit is open at the time `now`, or undefined when a call may go through.
  // `now` is a time of `MonotonicClock.now`, in milliseconds.
  const openReason = (now: number): string | undefined => {
    while ((refusals.times[0] ?? now) < now - Duration.toMillis(refusals.per))
      refusals.times.shift()
    options.limit.tolerate(refusals.tolerated - refusals.times.length)
    if (refusals.times.length >= refusals.max) {
      return `the provider refused ${refusals.times.length} calls in the last ${Duration.format(refusals.per)}`
    }
    if (failures < options.failures || !options.blame.isVendors(now)) return undefined
    return now < nextTrialAt || isTrying ? `${failures} calls in a row have failed` : undefined
  }

  const failed = (error: ProviderError, targets: number, now: number) => {
    // One target of the call may be at fault. The calls for its halves find that out.
    if (error.reason !== "Rejected" || targets === 1) failures += 1
    const pauses = [options.cooldown, error.retryAfter ?? 0].map((_) => Duration.toMillis(_))
    nextTrialAt = now + Math.max(...pauses)
    if (failures >= options.failures && options.blame.isVendors(now)) options.blame.forget()
    if (isRefusal.has(error.reason)) refusals.times.push(now)
  }

  const tooMany = () =>
    refusals.times.length + inFlight < refusals.tolerated
      ? undefined
      : `the provider refused ${refusals.times.length} calls and ${inFlight} are in flight`

  const guard: CircuitBreaker["guard"] = Effect.fnUntraced(function* (call, targets) {
    const now = yield* MonotonicClock.now
    const message = openReason(now) ?? tooMany()
    if (message !== undefined) return yield* new CircuitOpen({ message })
    const isTrial = failures >= options.failures
    if (isTrial) isTrying = true
    inFlight += 1
    return yield* call.pipe(
      Effect.tapBoth({
        onSuccess: () => Effect.sync(() => void (failures = 0)),
        onFailure: (error) => Effect.map(MonotonicClock.now, (now) => failed(error, targets, now)),
      }),
      Effect.ensuring(
        Effect.sync(() => {
          inFlight -= 1
          if (isTrial) isTrying = false
        }),
      ),
    )
  })

  return { guard, openReason: Effect.map(MonotonicClock.now, openReason) }
}

/** The reasons of failed calls that count towards a vendor's limit on answers with a 4xx status. */
const isRefusal = new Set<ProviderError["reason"]>(["Refused", "Rejected", "Throttled"])
