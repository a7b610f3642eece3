/** Starts the service on its own database, which tests can inspect and disturb. */
import { Agent } from "node:http"
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { type AccountId, Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import * as CachedApiKeys from "../../src/accounts/CachedApiKeys.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Listener } from "../../src/http/NodeServer.ts"
import type * as RateLimit from "../../src/http/RateLimit.ts"
import * as Server from "../../src/http/Server.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "./memory.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import type * as Scopes from "../../src/accounts/Scope.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import * as UsageReport from "../../src/ledger/usage/UsageReport.ts"
import { figureHistory } from "./figureHistory.ts"
import { inSql, type Ports } from "./Stores.ts"
import { temporaryFolder } from "./temporaryFolder.ts"
import * as RawHttp from "./RawHttp.ts"

/** The services that a request uses. A test may replace one of them. */
type Layers = ApiKeys | CreditLedger | MetricsProvider

export interface Options {
  readonly provider: Layer.Layer<MetricsProvider>
  readonly corsOrigins?: ReadonlyArray<string>
  readonly rateLimit?: RateLimit.Limit
  readonly price?: number
  readonly tracer?: Tracer.Tracer
  /** Replaces layers after they have been built. */
  readonly replace?: (layers: Context.Context<Layers>) => Context.Context<Layers>
  /** How long a request may take (default: 30 seconds). */
  readonly timeout?: Duration.DurationInput
  /** The database (default: a SQLite file, with a clock that stands still). */
  readonly database?: Layer.Layer<SqlClient.SqlClient, unknown>
  /** Wraps the transactions of all requests. */
  readonly transactions?: Transactions
}

/** While `around` is set, it wraps each transaction. */
export interface Transactions {
  around?: <A, E, R>(transaction: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The fixed time of all services in these tests. */
const time = Date.UTC(2026, 0, 1)

const stillClock = Object.assign(Clock.make(), {
  unsafeCurrentTimeMillis: () => time,
  unsafeCurrentTimeNanos: () => BigInt(time) * 1_000_000n,
})

export const start = (options: Options) =>
  Effect.gen(function* () {
    const { corsOrigins = [], replace = (layers) => layers, tracer, transactions = {} } = options
    const { database, timeout = "30 seconds" } = options
    const price = Credits.make(options.price ?? 1)
    const isTraced = tracer !== undefined
    const log: Array<string> = []
    const filename = join(yield* temporaryFolder, "authority.db")
    const context = yield* Server.layer({
      host: "127.0.0.1",
      port: 0,
      requestTimeout: timeout,
      shutdownTimeout: "1 second",
      maxConnections: 1000,
      corsOrigins,
      isTraced,
      hasSyntheticFigures: false,
      rateLimit: options.rateLimit,
    }).pipe(
      Layer.provide([AuthorityCheck.layer({ price }), figureHistory(), UsageReport.layer]),
      Layer.provide(memory.health),
      Layer.provide(
        Layer.effectContext(
          Effect.map(Effect.context<Layers>(), (all) =>
            replace(Context.pick(ApiKeys, CreditLedger, MetricsProvider)(all)),
          ),
        ),
      ),
      Layer.provide([CachedApiKeys.layer, options.provider]),
      Layer.provideMerge(inSql(withTransactions(database ?? Sqlite.layer(filename), transactions))),
      Layer.provide(Logger.replace(Logger.defaultLogger, toLines(log))),
      Layer.provide(Logger.minimumLogLevel(LogLevel.Debug)),
      Layer.build,
      database === undefined ? Effect.withClock(stillClock) : (effect) => effect,
      isTraced ? Effect.withTracer(tracer) : (effect) => effect,
    )
    const listener = Context.get(context, Listener)
    const { url } = listener.address()
    return {
      url,
      /** The log lines, in JSON. */
      log,
      openConnections: Effect.async<number>((resume) => {
        listener.server.getConnections((_, count) => resume(Effect.succeed(count)))
      }),
      /** Creates an account with an API key. */
      newClient: (credits: number, scopes?: ReadonlyArray<Scopes.Scope>) =>
        Effect.provide(newClient(credits, scopes), context),
      suspend: (account: AccountId) => Context.get(context, Accounts).suspend(account),
      booksOf: (account: AccountId) => Effect.provide(booksOf(account), context),
      verify: Effect.provide(
        Effect.flatMap(CreditLedger, ({ verify }) => verify),
        context,
      ),
      sql: Context.get(context, SqlClient.SqlClient),
      send: (request: RawHttp.Request) => RawHttp.request(url, request),
    }
  })

export type Service = Effect.Effect.Success<ReturnType<typeof start>>

/** An agent with one keep-alive connection, for the current scope. */
export const keptConnection: Effect.Effect<Agent, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 1 })),
  (agent) => Effect.sync(() => agent.destroy()),
)

const toLines = (log: Array<string>) => Logger.map(Logger.jsonLogger, (line) => void log.push(line))

const withTransactions = <E>(
  client: Layer.Layer<SqlClient.SqlClient, E>,
  transactions: Transactions,
) =>
  Layer.map(client, (context) => {
    const sql = Context.get(context, SqlClient.SqlClient)
    const { withTransaction } = sql
    const wrapped: typeof withTransaction = (statements) => {
      const transaction = withTransaction(statements)
      return transactions.around === undefined ? transaction : transactions.around(transaction)
    }
    return Context.make(SqlClient.SqlClient, Object.assign(sql, { withTransaction: wrapped }))
  })

const newClient = (
  credits: number,
  scopes?: ReadonlyArray<Scopes.Scope>,
): Effect.Effect<Client, never, Ports> =>
  Effect.gen(function* () {
    const account = yield* newAccountWith(credits)
    const { key } = yield* (yield* ApiKeys).issue({ account, scopes })
    return { account, key: Redacted.value(key) }
  }).pipe(Effect.withClock(stillClock))

export interface Client {
  readonly account: AccountId
  readonly key: string
}

/** Returns everything that is stored about an account. */
const booksOf = (account: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ledger = yield* CreditLedger
    const { charged, granted, held } = yield* ledger.balance(account)
    const entries = yield* Stream.runCollect(ledger.statement(account, {}))
    const keys = yield* sql<{ readonly key: string; readonly requestId: string }>`
      SELECT key, fingerprint, body, expires_at, request_id FROM receipts
      WHERE account_id = ${account} ORDER BY key`
    return { charged, granted, held, entries: Chunk.toReadonlyArray(entries), keys: [...keys] }
  })
