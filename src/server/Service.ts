/**
 * Runs the service inside another program, the host, which has its own provider, stores or
 * settings.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Accounts } from "../accounts/Account.ts"
import type { ApiKeys } from "../accounts/ApiKeys.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { type CannotListen, Listener } from "../http/NodeServer.ts"
import type { MetricsProvider } from "../providers/MetricsProvider.ts"
import type { Vendor } from "../providers/Vendor.ts"
import * as Settings from "../Settings.ts"
import type { StoreFailure } from "../database/StoreFailure.ts"
import * as Composition from "./Composition.ts"
import { decorated } from "./decorated.ts"
import { ledgerInTime } from "./ledgerInTime.ts"
import { allInDatabase, type Stores } from "./Stores.ts"

/** The running service. */
export class Service extends Context.Tag("authority/Service")<
  Service,
  {
    /** The address that the service listens on, for example `http://127.0.0.1:8080`. */
    readonly url: string
    readonly port: number
  }
>() {}

// The source of the figures: either a vendor, which the service decorates, or a complete provider.
type Source<E> =
  | {
      /**
       * A vendor without decorators. The service adds cache, queue, timeout, retries and circuit
       * breaker, as the settings say.
       */
      readonly vendor: Layer.Layer<Vendor, E, Settings.Settings | Stores>
      readonly provider?: undefined
    }
  | {
      /**
       * A complete provider, such as a chain of providers or a fake provider. The service adds no
       * cache, queue, timeout, retries or circuit breaker.
       */
      readonly provider: Layer.Layer<MetricsProvider, E, Settings.Settings | Stores>
      readonly vendor?: undefined
    }

export type Options<EProvider = never, EStores = never> = Source<EProvider> & {
  /**
   * The stores. Default: all stores of `inDatabase`, in the database that the setting
   * AUTHORITY_DATABASE_URL names. To replace one, merge the others with a layer of your own.
   */
  readonly stores?: Layer.Layer<Stores, EStores, Settings.Settings>
  /** The settings, keyed by environment variable. Default: the environment of the process. */
  readonly settings?: Settings.Environment
}

/** The services that `layer` provides to the host. */
export type Given = Service | Accounts | ApiKeys | CreditLedger

/** The errors with which the start fails. Each has a `message` of one line. */
export type CannotStart = Settings.InvalidSetting | CannotListen | StoreFailure

/**
 * Runs the service inside the host, with the provider of the host and, optionally, its stores. The
 * service uses the host's logger and tracer. When the scope of the layer closes, the service
 * finishes the requests in flight and then closes the stores.
 */
export const layer = <EProvider = never, EStores = never>({
  provider,
  settings = process.env,
  stores,
  vendor,
}: Options<EProvider, EStores>): Layer.Layer<Given, EProvider | EStores | CannotStart> =>
  Layer.provideMerge(
    listening,
    Composition.over<EProvider, Settings.Settings | Stores, EStores | StoreFailure, Stores>({
      provider: vendor === undefined ? provider : decorated(vendor),
      stores: stores === undefined ? allInDatabase : Layer.map(stores, withLedgerInTime),
    }),
  ).pipe(Layer.provide(Settings.from(settings)))

const withLedgerInTime = (stores: Context.Context<Stores>) =>
  Context.add(stores, CreditLedger, ledgerInTime(Context.get(stores, CreditLedger)))

const listening = Layer.effect(
  Service,
  Effect.map(Listener, ({ address }) => Service.of(address())),
)
