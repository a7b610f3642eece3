/**
 * Composes the service: one list of layers, from the stores and the provider to the open port.
 * `authority serve` and programs with layers of their own use the same list.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Accounts } from "../Account.ts"
import type { ApiKeys } from "../ApiKeys.ts"
import * as AuthorityCheck from "../AuthorityCheck.ts"
import * as CachedApiKeys from "../http/CachedApiKeys.ts"
import type { CreditLedger } from "../CreditLedger.ts"
import * as Express from "../express/Express.ts"
import * as NodeServer from "../http/NodeServer.ts"
import * as Server from "../http/Server.ts"
import { Credits } from "../ledger/Credits.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import * as Settings from "../Settings.ts"
import type { NoDatabase } from "../sql/Presence.ts"
import { ReconnectLimit } from "../sql/retry.ts"
import type { StoreFailure } from "../StoreFailure.ts"
import * as Traced from "../telemetry/Traced.ts"
import { decorated } from "./decorated.ts"
import * as Stores from "./Stores.ts"
import * as sweeper from "./sweeper.ts"

/** The running service. */
export class Service extends Context.Tag("authority/Service")<
  Service,
  {
    /** The address that the service listens on, for example `http://127.0.0.1:8080`. */
    readonly url: string
    readonly port: number
  }
>() {}

/** One provider, either bare or complete. */
type Source<E> =
  | {
      /** A vendor. It gets cache, queue, timeout, retries and circuit breaker of the settings. */
      readonly vendor: Layer.Layer<MetricsProvider, E, Settings.Settings | Stores.Stores>
      readonly provider?: undefined
    }
  | {
      /** A complete provider, which is taken as it is, such as a chain or a fake. */
      readonly provider: Layer.Layer<MetricsProvider, E, Settings.Settings | Stores.Stores>
      readonly vendor?: undefined
    }

export type Options<EProvider = never, EStores = never> = Source<EProvider> & {
  /** Default: the database of the setting AUTHORITY_DATABASE_URL, created when it is missing. */
  readonly stores?: Layer.Layer<Stores.Stores, EStores, Settings.Settings>
  /** The settings by the names of their environment variables. Default: the environment. */
  readonly settings?: Settings.Environment
}

/** What the layer of the service gives to other layers of the program. */
export type Given = Service | Accounts | ApiKeys | CreditLedger

/** Why the service does not start. Every error has a `message` of one line. */
export type CannotStart =
  Settings.InvalidSetting | NodeServer.CannotListen | StoreFailure | NoDatabase

/**
 * The service with layers of one's own. It listens once the layer is built. On release, it finishes
 * the requests in flight before it closes the stores. Log and tracer are those of the program.
 */
export const layer = <EProvider = never, EStores = never>({
  provider,
  settings = process.env,
  stores,
  vendor,
}: Options<EProvider, EStores>): Layer.Layer<Given, EProvider | EStores | CannotStart> =>
  over<
    EProvider,
    Settings.Settings | Stores.Stores,
    EStores | StoreFailure | NoDatabase,
    Stores.Stores
  >({
    provider: vendor === undefined ? provider : decorated(vendor),
    stores: stores ?? Stores.ofSettings,
  }).pipe(Layer.provide(Settings.from(settings)))

/**
 * The service over any provider and stores, where the provider may use all that the stores give.
 */
export const over = <EProvider, RProvider, EStores, More>(parts: {
  readonly provider: Layer.Layer<MetricsProvider, EProvider, RProvider>
  readonly stores: Layer.Layer<Stores.Stores | More, EStores, Settings.Settings>
}) =>
  Effect.map(Settings.Settings, (settings) =>
    service.pipe(
      Layer.provideMerge(server(settings)),
      Layer.provide([sweeper.layer, useCase(settings)]),
      Layer.provideMerge(CachedApiKeys.layer),
      Layer.provideMerge(Layer.provideMerge(parts.provider, parts.stores)),
      Layer.provide(Layer.succeed(ReconnectLimit, reconnectLimit(settings))),
    ),
  ).pipe(Layer.unwrapEffect)

const server = (settings: Settings.Settings["Type"]) =>
  Effect.map(MetricsProvider, ({ name }) =>
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
        hasSyntheticFigures: name.split(",").includes("sandbox"),
      },
      express(settings),
    ),
  ).pipe(Layer.unwrapEffect)

const service = Layer.effect(
  Service,
  Effect.map(NodeServer.Listener, ({ address }) => Service.of(address())),
)

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
