/**
 * Combines the layers of the service, from the stores and the provider to the HTTP server. Used by
 * the command `serve`, and by `server/Service` in programs that bring layers of their own.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentRoutes from "../agents/AgentRoutes.ts"
import type * as Administration from "../http/admin/Administration.ts"
import * as AuthorityCheck from "../check/AuthorityCheck.ts"
import * as CachedApiKeys from "../accounts/CachedApiKeys.ts"
import * as FigureHistory from "../providers/figures/FigureHistory.ts"
import * as Server from "../http/Server.ts"
import { Credits } from "../ledger/Credits.ts"
import { MetricsProvider } from "../providers/MetricsProvider.ts"
import * as Settings from "../Settings.ts"
import { ReconnectLimit } from "../database/retry.ts"
import * as Traced from "../http/telemetry/Traced.ts"
import * as UsageReport from "../ledger/usage/UsageReport.ts"
import { adminToken } from "./adminToken.ts"
import { costOptions } from "./decorated.ts"
import type { Stores } from "./Stores.ts"
import * as sweeper from "./sweeper.ts"

/** The service with the given provider and stores. The provider's layer can use the stores. */
export const over = <EProvider, RProvider, EStores, More>(parts: {
  readonly provider: Layer.Layer<MetricsProvider, EProvider, RProvider>
  readonly stores: Layer.Layer<Stores | More, EStores, Settings.Settings>
}) =>
  Effect.map(Settings.Settings, (settings) =>
    serverOf(settings).pipe(
      Layer.provide([
        sweeper.layer,
        useCase(settings),
        FigureHistory.layer({ kept: settings.history, cacheTtl: settings.cacheTtl }),
        UsageReport.layer,
      ]),
      Layer.provideMerge(CachedApiKeys.layer),
      Layer.provideMerge(Layer.provideMerge(parts.provider, parts.stores)),
      Layer.provide(Layer.succeed(ReconnectLimit, reconnectLimit(settings))),
    ),
  ).pipe(Layer.unwrapEffect)

const serverOf = (settings: Settings.Settings["Type"]) =>
  Effect.map(Effect.all([MetricsProvider, adminToken]), ([{ name }, token]) => {
    const { host, requestTimeout } = settings
    const corsOrigins = settings.corsOrigins ?? []
    return server(
      {
        host,
        port: settings.port,
        maxConnections: settings.maxConnections,
        requestTimeout,
        shutdownTimeout: settings.shutdownTimeout,
        corsOrigins,
        rateLimit: settings.rateLimit,
        isTraced: settings.otlpEndpoint !== undefined,
        hasSyntheticFigures: name === "sandbox",
      },
      token === undefined ? undefined : { token, own: ownAddress(settings), ...moneyOf(settings) },
      settings.mcp === "on"
        ? AgentRoutes.routes({
            host,
            corsOrigins,
            requestTimeout,
            price: settings.creditPrice,
            approveAbove: settings.mcpApproveAbove,
          })
        : undefined,
    )
  }).pipe(Layer.unwrapEffect)

const moneyOf = (settings: Settings.Settings["Type"]) => ({
  currency: settings.currency,
  creditValue: settings.creditValue,
  ceilingOf: (provider: string) => costOptions(settings, provider).ceiling?.rows,
})

const ownAddress = ({ adminHost, adminPort }: Settings.Settings["Type"]) =>
  adminPort === undefined ? undefined : { host: adminHost, port: adminPort }

/** The HTTP server. `more` makes further routes. */
export const server = <More = never>(
  options: Server.Options,
  administration?: Pick<Server.AdministrationOptions, "own"> & Administration.Options,
  more?: Server.MoreRoutes<More>,
) =>
  Server.layer(
    options,
    administration && {
      own: administration.own,
      routes: Effect.flatMap(
        Effect.promise(() => import("../http/admin/Administration.ts")),
        ({ make }) => make(administration),
      ),
    },
    more,
  )

const useCase = ({ creditPrice, otlpEndpoint }: Settings.Settings["Type"]) => {
  const layer = AuthorityCheck.layer({ price: Credits.make(creditPrice) })
  return otlpEndpoint === undefined
    ? layer
    : Traced.authorityCheck.pipe(Layer.provide(layer), Layer.provide(Traced.creditLedger))
}

// Retries a statement after a lost connection for 10 seconds longer than the request timeout, so
// that a request times out before the retries of its statements end.
const reconnectLimit = ({ requestTimeout }: Settings.Settings["Type"]) => ({
  limit: Duration.sum(requestTimeout, "10 seconds"),
})
