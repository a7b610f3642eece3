import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/**
 * Waits until the condition is true. Fails after 100 seconds, with the condition's name in the
 * error.
 */
export const eventually = <E = never, R = never>(
  name: string,
  condition: (() => boolean) | Effect.Effect<boolean, E, R>,
): Effect.Effect<void, Error | E, R> =>
  (Effect.isEffect(condition) ? condition : Effect.sync(condition)).pipe(
    Effect.flatMap((holds) => (holds ? Effect.void : Effect.fail("not yet" as const))),
    Effect.retry({
      while: (error) => error === "not yet",
      schedule: Schedule.spaced("5 millis").pipe(Schedule.upTo("100 seconds")),
    }),
    Effect.mapError((error) => (error === "not yet" ? new Error(`never: ${name}`) : (error as E))),
  )
