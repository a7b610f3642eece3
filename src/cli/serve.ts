/** Assembles the service: one list of layers, from the settings to the open port. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AuthorityCheck from "../AuthorityCheck.ts"
import * as CachedApiKeys from "../http/CachedApiKeys.ts"
import * as Express from "../express/Express.ts"
import * as Server from "../http/Server.ts"
import { Credits } from "../ledger/Credits.ts"
import * as Settings from "../Settings.ts"
import { ReconnectLimit } from "../sql/retry.ts"
import * as Traced from "../telemetry/Traced.ts"
import * as greeting from "./greeting.ts"
import * as Heap from "./Heap.ts"
import * as Logging from "./Logging.ts"
import * as Providers from "./Providers.ts"
import * as stopLog from "./stopLog.ts"
import * as Stores from "./Stores.ts"
import * as sweeper from "./sweeper.ts"
import * as Otlp from "./Otlp.ts"

/** The only use of `express/`, the fast path. Without it the answers are the same, only slower. */
const express = ({
  corsOrigins = [],
  creditPrice,
  express,
  otlpEndpoint,
  requestTimeout,
}: Settings.Settings["Type"]): ReturnType<typeof Express.make> =>
  express === "on"
    ? Express.make({
        price: Credits.make(creditPrice),
        timeout: requestTimeout,
        corsOrigins,
        isTraced: otlpEndpoint !== undefined,
      })
    : Server.noShortcut

const useCase = ({ creditPrice, otlpEndpoint }: Settings.Settings["Type"]) => {
  const layer = AuthorityCheck.layer({ price: Credits.make(creditPrice) })
  return otlpEndpoint === undefined
    ? layer
    : Traced.authorityCheck.pipe(Layer.provide(layer), Layer.provide(Traced.creditLedger))
}

/** How long statements are retried after a lost connection. Requests give up earlier, with 503. */
const reconnectLimit = ({ requestTimeout }: Settings.Settings["Type"]) => ({
  limit: Duration.sum(requestTimeout, "10 seconds"),
})

/** Answers requests until it is interrupted. Fails when it cannot start. */
export const serve = (options: { readonly json: boolean }) =>
  Effect.flatMap(Settings.Settings, (settings) =>
    greeting.layer(options).pipe(
      Layer.provide(
        Server.layer(
          {
            host: settings.host,
            port: settings.port,
            maxConnections: settings.maxConnections,
            requestTimeout: settings.requestTimeout,
            shutdownTimeout: settings.shutdownTimeout,
            corsOrigins: settings.corsOrigins ?? [],
            rateLimit: settings.rateLimit,
            isTraced: settings.otlpEndpoint !== undefined,
            hasSyntheticFigures: settings.providers.includes("sandbox"),
          },
          express(settings),
        ),
      ),
      Layer.provide([Heap.layer, sweeper.layer, useCase(settings)]),
      Layer.provide(CachedApiKeys.layer),
      Layer.provide(Stores.inDatabase),
      Layer.provide(Stores.heartbeat),
      Layer.provide(Layer.provideMerge(Providers.layer, Stores.database)),
      Layer.provide(stopLog.layer),
      Layer.launch,
      Effect.provideService(ReconnectLimit, reconnectLimit(settings)),
    ),
  ).pipe(
    Effect.provide(Otlp.layer),
    Effect.provide(Logging.layer({ stderr: options.json })),
    Effect.provide(Settings.layer),
  )
