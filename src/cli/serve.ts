/** Runs the service with the provider and the database of the settings. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { Actor } from "../accounts/AuditLog.ts"
import * as Composition from "../server/Composition.ts"
import { allInDatabase } from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import * as greeting from "./greeting.ts"
import * as Logging from "./Logging.ts"
import * as Otlp from "./Otlp.ts"
import * as Providers from "../server/Providers.ts"
import * as Command from "./Command.ts"

const service = Composition.over({ provider: Providers.layer, stores: allInDatabase })

/**
 * Logs which signal stops the service, and that it has stopped. Provide this layer to the layers of
 * the service. Effect releases it after them, so "Stopped." is the last line of the log.
 */
const stopLog = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { shutdownTimeout } = yield* Settings.Settings
    const runSync = Runtime.runSync(yield* Effect.runtime())
    let isStopping = false
    const onSignal = (signal: NodeJS.Signals) => {
      isStopping = true
      // Remove the listener, so that a second signal ends the process at once.
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
        // Without a listener, this signal would open Node's inspector, which exposes every secret.
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

/** Runs the service until the fiber is interrupted. Fails when the service cannot start. */
export const serve = (options: { readonly json: boolean }) =>
  greeting
    .layer(options)
    .pipe(
      Layer.provide(service),
      Layer.provide(stopLog),
      Layer.launch,
      Effect.provide(Otlp.layer),
      Effect.provide(Logging.layer({ stderr: options.json })),
      Effect.provide(Settings.layer),
      Effect.provideService(Actor, "serve"),
    )

export const command = Command.make({
  examples: ["authority serve", "authority serve --json"],
  options: Schema.Struct({}),
  run: (_, json) => serve({ json }),
})
