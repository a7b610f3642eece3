/**
 * Leaves a vendor alone that does not do its work: after a row of failures it is not asked for a
 * while, then one call tries whether it is back. Refusals can have a limit of their own, for a
 * vendor that punishes whoever has too many of them.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ProviderError } from "../MetricsProvider.ts"
import * as Stopwatch from "../Stopwatch.ts"

export interface Options {
  /** So many failures in a row open the breaker. */
  readonly failures: number
  /** How long it stays open; longer when the vendor asks for more. */
  readonly cooldown: Duration.DurationInput
  /** At most so many answers of the kind `Refused` or `Throttled` within a span of time. */
  readonly refusals?: { readonly max: number; readonly per: Duration.DurationInput }
}

/** The vendor was not asked; `message` says why. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{ readonly message: string }> {}

export interface CircuitBreaker {
  /** Lets a call through, or fails at once with CircuitOpen. */
  readonly guard: <A>(
    call: Effect.Effect<A, ProviderError>,
  ) => Effect.Effect<A, ProviderError | CircuitOpen>
  /** Why a call would be spared at this moment; undefined when it would not. */
  readonly openReason: Effect.Effect<string | undefined>
}

export const make = (options: Options): CircuitBreaker => {
  const refusals = {
    max: options.refusals?.max ?? Number.POSITIVE_INFINITY,
    perMs: Duration.toMillis(options.refusals?.per ?? 0),
    /** When they were, on the stopwatch. */
    times: new Array<number>(),
  }
  let failures = 0
  let opensAgainAt = Number.NEGATIVE_INFINITY
  let isTrying = false

  /** Why the vendor is not to be asked now. */
  const openReason = (now: number): string | undefined => {
    while ((refusals.times[0] ?? now) < now - refusals.perMs) refusals.times.shift()
    if (refusals.times.length >= refusals.max) {
      return `${refusals.times.length} calls were refused lately`
    }
    if (failures < options.failures) return undefined
    return now < opensAgainAt || isTrying ? `${failures} calls in a row have failed` : undefined
  }

  const failed = (error: ProviderError, now: number) => {
    failures += 1
    const pauses = [options.cooldown, error.retryAfter ?? 0].map((_) => Duration.toMillis(_))
    opensAgainAt = now + Math.max(...pauses)
    if (error.reason === "Refused" || error.reason === "Throttled") refusals.times.push(now)
  }

  const guard: CircuitBreaker["guard"] = Effect.fnUntraced(function* (call) {
    const now = yield* Stopwatch.now
    const message = openReason(now)
    if (message !== undefined) return yield* new CircuitOpen({ message })
    const isTrial = failures >= options.failures
    if (isTrial) isTrying = true
    return yield* call.pipe(
      Effect.tapBoth({
        onSuccess: () => Effect.sync(() => void (failures = 0)),
        onFailure: (error) => Effect.map(Stopwatch.now, (now) => failed(error, now)),
      }),
      Effect.ensuring(
        Effect.sync(() => {
          if (isTrial) isTrying = false
        }),
      ),
    )
  })

  return { guard, openReason: Effect.map(Stopwatch.now, openReason) }
}
