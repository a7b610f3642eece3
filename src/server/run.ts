import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"

/**
 * Builds the layer and keeps it until SIGINT or SIGTERM, then releases it and ends the process. A
 * failure is one line on stderr, and the exit code is 1.
 */
export const run = <A, E>(service: Layer.Layer<A, E>): void =>
  Layer.launch(service).pipe(
    Effect.tapErrorCause((cause) =>
      Effect.sync(() => {
        if (!Cause.isInterruptedOnly(cause)) process.stderr.write(`${lineOf(cause)}\n`)
      }),
    ),
    NodeRuntime.runMain({ disableErrorReporting: true }),
  )

const lineOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  const text = Predicate.hasProperty(error, "message") ? String(error.message) : String(error)
  return `authority-metrics: ${text.trim().replaceAll(/\s*\n\s*/g, " ")}`
}
