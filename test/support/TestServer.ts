/** The service over real HTTP on a free port, composed as in the program. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { afterAll } from "vitest"
import { AccountName, Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import * as CachedApiKeys from "../../src/accounts/CachedApiKeys.ts"
import { batchPath, creditsPath } from "../../src/contract/Wire.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { Health } from "../../src/database/Health.ts"
import * as NodeServer from "../../src/http/NodeServer.ts"
import type * as RateLimit from "../../src/http/RateLimit.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import type { MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import type { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import type { Costs } from "../../src/providers/costs/Costs.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import * as Composition from "../../src/server/Composition.ts"
import * as UsageReport from "../../src/ledger/usage/UsageReport.ts"
import { figureHistory } from "./figureHistory.ts"
import * as memory from "./memory.ts"
import type { Ports } from "./Stores.ts"
import * as RawHttp from "./RawHttp.ts"

export interface Options {
  readonly provider?: Layer.Layer<MetricsProvider>
  readonly credits?: number
  readonly price?: number
  readonly rateLimit?: RateLimit.Limit
  readonly corsOrigins?: ReadonlyArray<string>
  readonly hasSyntheticFigures?: boolean
  readonly ledger?: Layer.Layer<CreditLedger>
  readonly keys?: Layer.Layer<ApiKeys>
  /** All stores, for example those in PostgreSQL. */
  readonly stores?: Layer.Layer<Ports>
  readonly health?: Layer.Layer<Health>
  /** The store of the history (default: an empty one). */
  readonly figures?: Layer.Layer<MetricsCache>
  /** By how much the history that clients see is delayed (default: a day). */
  readonly cacheTtl?: Duration.Duration
  readonly costs?: Layer.Layer<Costs>
  /** The token of the administration API, which is off without a token. */
  readonly adminToken?: string
  /** The value of a credit in millionths, and the vendors' ceilings, for the operator. */
  readonly creditValue?: number
  readonly ceilingOf?: (provider: string) => number | undefined
  readonly logLevel?: LogLevel.LogLevel
  readonly limits?: Partial<NodeServer.Limits>
  readonly requestTimeout?: Duration.DurationInput
}

export { batchPath, creditsPath }

export const memoryLedger = memory.creditLedger({ lease: "1 minute" })

const storesOf = ({ keys, ledger, stores }: Options): Layer.Layer<Ports> =>
  stores ??
  Layer.mergeAll(memory.accounts, memory.auditLog, keys ?? memory.apiKeys, ledger ?? memoryLedger)

/** The server, which adds its log lines to `log`. */
const layerOf = (options: Options, log: Array<string>) => {
  const price = Credits.make(options.price ?? 1)
  return Composition.server(
    {
      host: "127.0.0.1",
      port: 0,
      requestTimeout: options.requestTimeout ?? "30 seconds",
      shutdownTimeout: "1 second",
      maxConnections: 1000,
      corsOrigins: options.corsOrigins ?? [],
      isTraced: false,
      hasSyntheticFigures: options.hasSyntheticFigures ?? false,
      rateLimit: options.rateLimit,
      limits: options.limits ?? {},
    },
    options.adminToken === undefined
      ? undefined
      : {
          token: Redacted.make(options.adminToken),
          own: undefined,
          currency: "USD",
          creditValue: options.creditValue,
          ceilingOf: options.ceilingOf ?? (() => undefined),
        },
  ).pipe(
    Layer.provide([
      AuthorityCheck.layer({ price }),
      figureHistory(options.figures, options.cacheTtl),
      UsageReport.layer,
    ]),
    Layer.provide(options.provider ?? Sandbox.layer),
    Layer.provide(options.health ?? memory.health),
    Layer.provide(options.costs ?? memory.costs),
    Layer.provideMerge(CachedApiKeys.layer),
    Layer.provideMerge(storesOf(options)),
    Layer.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.map(Logger.jsonLogger, (line) => void log.push(line)),
      ),
    ),
    Layer.provide(Logger.minimumLogLevel(options.logLevel ?? LogLevel.Info)),
  )
}

/**
 * Starts a server for the current scope, with one account and its API key. A second server on the
 * same stores has the same account.
 */
export const start = (options: Options = {}) =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const context = yield* Layer.build(layerOf(options, log))
    const ledger = Context.get(context, CreditLedger)
    const keys = Context.get(context, ApiKeys)
    const accounts = Context.get(context, Accounts)
    const name = AccountName.make("acme")
    const { id: account } = yield* accounts
      .create(name)
      .pipe(Effect.catchTag("AccountExists", () => accounts.find(name)))
    const credits = options.credits ?? 1000
    if (credits > 0) yield* ledger.grant(account, Credits.make(credits), null)
    const issued = yield* keys.issue({ account })
    const key = Redacted.value(issued.key)
    const { address, server } = Context.get(context, NodeServer.Listener)
    const { port, url } = address()

    return {
      url,
      port,
      key,
      keyId: issued.record.id,
      account,
      accounts,
      keys,
      ledger,
      /** The number of connections that the server has open. */
      connections: Effect.async<number>((resume) => {
        server.getConnections((_, count) => resume(Effect.succeed(count)))
      }),
      /** The log lines, in JSON. */
      log,
      /** The main figures of the account's balance. */
      books: Effect.map(ledger.balance(account), (balance) => ({
        available: Balance.available(balance),
        held: Number(balance.held),
        charged: Number(balance.charged),
      })),
      charges: Effect.map(
        Stream.runCollect(
          Stream.filter(ledger.statement(account, {}), ({ kind }) => kind === "charge"),
        ),
        (entries) => [...entries],
      ),
      send: (request: RawHttp.Request) => RawHttp.request(url, request),
      /** Sends a well-formed batch with the account's key. */
      check: (urls: ReadonlyArray<unknown>) =>
        RawHttp.request(url, batch(key, JSON.stringify({ urls }))),
      /** Sends any body to the batch path. */
      post: (body: string | Uint8Array, headers: Record<string, string> = {}) =>
        RawHttp.request(url, batch(key, body, headers)),
      /** Sends a GET with the account's key. */
      get: (path: string) =>
        Effect.map(
          RawHttp.request(url, { path, headers: { "x-api-key": key } }),
          ({ status, text }) => ({ status, body: JSON.parse(text) }),
        ),
      credits: RawHttp.request(url, { path: creditsPath, headers: { "x-api-key": key } }),
    }
  })

/**
 * Starts a server for all tests of a file. Tests that share the server must not charge, and must not
 * read its log.
 */
export const shared = (options: Options = {}) => {
  const scope = Effect.runSync(Scope.make())
  const server = Effect.runSync(Effect.cached(Scope.extend(start(options), scope)))
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return server
}

export const batch = (
  key: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): RawHttp.Request => ({
  method: "POST",
  path: batchPath,
  headers: { "content-type": "application/json", "x-api-key": key, ...headers },
  body,
})
