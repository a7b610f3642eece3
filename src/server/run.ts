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

const lineOf = (cause: Cause.Cause<unknown>) =>
  `authority-metrics: ${textOf(Cause.squash(cause))
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")}`

/** Many errors of Effect's libraries have no message, but a name and a cause. */
const textOf = (error: unknown): string => {
  const message = Predicate.hasProperty(error, "message") ? String(error.message) : ""
  if (message !== "") return message
  return Predicate.hasProperty(error, "cause") && error.cause !== undefined
    ? `${String(error)}: ${textOf(error.cause)}`
    : String(error)
}
