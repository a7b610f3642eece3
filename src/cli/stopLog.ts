/** Logs which signal stops the service, and that the service has stopped. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { Settings } from "../Settings.ts"

/**
 * Provide this layer to the layers of the service. Effect releases this layer after the layers of
 * the service, so "Stopped." is the last line of the log.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { shutdownTimeout } = yield* Settings
    const runSync = Runtime.runSync(yield* Effect.runtime())
    let isStopping = false
    const onSignal = (signal: NodeJS.Signals) => {
      isStopping = true
      // Remove the listener: a second signal then ends the process at once.
      ignore()
      runSync(
        Effect.logInfo(
          `Stopping, because of ${signal}. Requests in flight have ${Duration.format(shutdownTimeout)} to finish.`,
        ),
      )
      if (signal === "SIGHUP") process.kill(process.pid, "SIGTERM")
    }
    const ignore = () => signals.forEach((signal) => process.off(signal, onSignal))
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        signals.forEach((signal) => process.on(signal, onSignal))
        // Without a listener, Node would open its inspector, which shows every secret.
        process.on("SIGUSR1", nothing)
      }),
      () => Effect.sync(ignore),
    )
    yield* Effect.addFinalizer(() => (isStopping ? Effect.logInfo("Stopped.") : Effect.void))
  }),
)

/** The signals that end the program. Effect's Node runtime handles SIGTERM and SIGINT. */
const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const

const nothing = () => {}
