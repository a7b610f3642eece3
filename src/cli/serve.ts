import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Server from "../http/Server.ts"
import * as Settings from "../Settings.ts"
import * as Logging from "./Logging.ts"
import * as Provider from "./Provider.ts"
import * as Stores from "./Stores.ts"
import * as Telemetry from "./Telemetry.ts"

/** Answers requests until it is interrupted, or cannot begin to. */
export const serve = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const broken = yield* Deferred.make<never>()
    const orEnd = <A, R>(part: Effect.Effect<A, never, R>) =>
      Effect.tapErrorCause(part, (cause) => Deferred.failCause(broken, cause))
    const router = Effect.promise(() => import("./service.ts")).pipe(
      Effect.flatMap(({ make }) => make(options)),
      Effect.tap(({ greet }) => Effect.forkScoped(orEnd(greet))),
      Effect.map(({ router }) => router),
      orEnd,
    )
    return yield* Effect.provide(
      Deferred.await(broken),
      Server.layer(
        {
          host: settings.host,
          port: settings.port,
          corsOrigins: settings.corsOrigins ?? [],
          shutdownTimeout: settings.shutdownTimeout,
          maxConnections: settings.maxConnections,
        },
        router,
      ),
    )
  }).pipe(
    Effect.provide(Layer.provideMerge(Provider.layer, Stores.database)),
    Effect.provide(Telemetry.layer),
    Effect.provide(Logging.layer({ stderr: options.json })),
    Effect.provide(Settings.layer),
  )
