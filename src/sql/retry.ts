import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"

/**
 * Runs again what failed for a reason that may be gone: at once, and then as `schedule` says. Unlike
 * `Effect.retry` it prepares for that only when it happens: every commit passes by here, and of those
 * that pass hardly any fails.
 */
export const retry =
  (options: {
    readonly while: (error: unknown) => boolean
    readonly schedule: Schedule.Schedule<unknown>
  }) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.catchIf(effect, options.while, () => Effect.retry(effect, options))
