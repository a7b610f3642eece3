/**
 * The connection pool for PostgreSQL. It chooses the server and TLS for each connection as libpq
 * does, and limits the number of connections to what the server allows.
 */
import { readFileSync } from "node:fs"
import { Socket } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { SqlError } from "@effect/sql/SqlError"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import type { ConnectionString, Host } from "./ConnectionString.ts"
import * as Failure from "./Failure.ts"
import * as PasswordFile from "./PasswordFile.ts"

export type Pool = Pg.Pool

export interface Options {
  readonly target: ConnectionString
  readonly maxConnections: number
  /** A connection without traffic for this long is closed. */
  readonly silenceMs: number
  /** True to use only a server that can be written to. */
  readonly mustWrite: boolean
  readonly types: Pg.CustomTypesConfig
}

/** After a way to connect has failed, new connections try the other ways first for this time. */
const avoidedMs = 30_000

/**
 * How long a caller waits when the server has reached its connection limit and the pool has no open
 * connection.
 */
const maxWaitMs = 10_000

/**
 * After refused connections have lowered the pool's maximum, the maximum rises again by one
 * connection per interval of this length, up to its configured value.
 */
const growIntervalMs = 5_000

/**
 * When a server refuses several new connections within this time, only the first refusal makes the
 * pool close a connection and log a warning.
 */
const burstMs = 1_000

/** The pool logs at most one warning about refused connections in this time. */
const warnIntervalMs = 3_600_000

/** An idle connection is closed after this time, so that another process can connect. */
const idleMs = 3_000

const defaultConnectTimeoutMs = 5_000

/**
 * Makes a pool. It opens no connection until a caller asks for one. Closing the scope closes all
 * connections. Fails when a file that the connection string names cannot be read.
 */
export const make = (options: Options): Effect.Effect<Pool, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(Effect.runtime<never>(), (runtime) =>
      Effect.try({
        try: () =>
          open(options, (left, configured) =>
            Runtime.runFork(
              runtime,
              Effect.logWarning(
                `The database refuses more connections. The service continues with ${left} of ${configured} connections. Raise the database's max_connections, or lower AUTHORITY_DATABASE_CONNECTIONS.`,
              ),
            ),
          ),
        catch: (cause) =>
          new SqlError({
            cause,
            message: "a certificate or key file that the connection string names cannot be read",
          }),
      }),
    ),
    (pool) =>
      Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second")),
  )

/** Warns that the pool has only `left` connections instead of the `configured` number. */
type Warn = (left: number, configured: number) => void

const open = (options: Options, warn: Warn): Pg.Pool => {
  const { maxConnections, mustWrite, silenceMs, target, types } = options
  const ways = waysTo(target)
  const routes = new Routes(ways)

  class Client extends Pg.Client {
    readonly way: Way

    constructor() {
      const way = routes.choose()
      super({
        ...way,
        user: target.user,
        password: () => passwordFor(target, way),
        database: target.database,
        application_name: target.applicationName ?? "authority",
        options: target.options,
        types,
        stream: () => socketWithTimeout(silenceMs),
      })
      this.way = way
      let isOpen = false
      this.once("connect", () => {
        isOpen = true
        routes.succeed(way)
      })
      let hasFailed = false
      const fail = (error: unknown) => {
        if (isOpen || hasFailed) return
        hasFailed = true
        if (Failure.isFull(error)) pool.handleRefusal()
        routes.fail(way, error)
      }
      this.connection.on("errorMessage", (error: unknown) => {
        fail(error)
        // Ending the client removes it from the pool.
        if (isOpen && isLast(error)) void this.end()
      })
      this.connection.on("error", fail)
      this.connection.on("end", () => fail(new Error("Connection terminated")))
    }
  }

  const examined = async (client: Pg.ClientBase) => {
    try {
      await examine(client)
    } catch (error) {
      if (client instanceof Client) routes.fail(client.way, error)
      throw error
    }
  }

  const pool = new ShrinkingPool({ servers: target.hosts.length, ways: ways.length }, warn, {
    Client,
    host: target.hosts[0].host,
    port: target.hosts[0].port,
    database: target.database,
    user: target.user,
    max: maxConnections,
    idleTimeoutMillis: idleMs,
    connectionTimeoutMillis: target.connectTimeoutMs ?? defaultConnectTimeoutMs,
    // Check that the server accepts writes if the caller or the connection string demands it. Also
    // check it if there are several servers, because at most one of them accepts writes.
    onConnect:
      mustWrite || target.targetSessionAttrs !== "any" || target.hosts.length > 1
        ? examined
        : undefined,
  })
  // Without a listener, the event "error" would throw. There is nothing to do: the pool has already
  // removed the connection.
  pool.on("error", () => {})
  return pool
}

type Callback = (
  error: Error | undefined,
  client: Pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void

/** What `connect` can still try for one caller. `connect` fails when `servers` or `ways` is 0. */
interface Left {
  /** Number of servers that have not failed. */
  readonly servers: number
  /** Number of ways to connect (a server, with or without TLS) that were not refused. */
  readonly ways: number
  /**
   * Until this time, in milliseconds of `performance.now`, `connect` tries again when a server has
   * reached its connection limit.
   */
  readonly until: number
}

/**
 * A pool that tries other ways to connect when one way fails. Lowers its maximum number of
 * connections when a server refuses more connections.
 */
class ShrinkingPool extends Pg.Pool {
  readonly #all: Omit<Left, "until">
  readonly #warn: Warn
  readonly #configuredMax: number
  #growTimer: NodeJS.Timeout | undefined
  #refusedAt = Number.NEGATIVE_INFINITY
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(all: Omit<Left, "until">, warn: Warn, config: Pg.PoolConfig) {
    super(config)
    this.#all = all
    this.#warn = warn
    this.#configuredMax = this.options.max
  }

  override connect(): Promise<Pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<Pg.PoolClient> | undefined {
    if (callback !== undefined) {
      this.#attempt(callback, { ...this.#all, until: performance.now() + maxWaitMs })
      return undefined
    }
    return new Promise((resolve, reject) =>
      this.connect((error, client) => (client === undefined ? reject(error) : resolve(client))),
    )
  }

  #attempt(callback: Callback, left: Left) {
    super.connect((error, client, done) => {
      if (error === undefined || error === null) return callback(undefined, client, done)
      if (Failure.isFull(error) && performance.now() < left.until) {
        // `handleRefusal` has lowered the pool's maximum, so this attempt waits for one of the open
        // connections. Without an open connection, this code tries again after a short delay.
        return this.totalCount > 0
          ? this.#attempt(callback, left)
          : void setTimeout(() => this.#attempt(callback, left), 250 * (1 + Math.random()))
      }
      const unusable = unusableAfter(error)
      const ways = left.ways - (unusable === "way" ? 1 : 0)
      const servers = left.servers - (unusable === "server" ? 1 : 0)
      if (unusable !== undefined && ways > 0 && servers > 0) {
        return this.#attempt(callback, { ...left, ways, servers })
      }
      callback(error, undefined, done)
    })
  }

  /**
   * Runs when the server refuses a new connection because its connection limit is reached. Lowers
   * the pool's maximum. At the first refusal of a burst, closes one of the open connections if
   * there are several, so that another process can connect.
   */
  handleRefusal() {
    const others = this.totalCount - 1
    this.options.max = Math.max(1, others - 1)
    clearTimeout(this.#growTimer)
    this.#growTimer = setTimeout(() => this.#grow(), growIntervalMs).unref()
    if (others === 0 || performance.now() - this.#refusedAt < burstMs) return
    this.#refusedAt = performance.now()
    if (others > 1) super.connect((_error, _client, done) => done(true))
    // Log after the burst of refused connections: each refusal may lower the pool's number of
    // connections, which is shown in the warning.
    setTimeout(() => this.#logRefusal(), burstMs).unref()
  }

  #logRefusal() {
    if (this.totalCount === 0 || performance.now() - this.#warnedAt < warnIntervalMs) return
    this.#warnedAt = performance.now()
    this.#warn(this.totalCount, this.#configuredMax)
  }

  /**
   * Raises the pool's maximum by one connection, so that the next waiting caller tries to connect.
   */
  #grow() {
    this.options.max = Math.min(this.#configuredMax, this.options.max + 1)
    if (this.options.max < this.#configuredMax) {
      this.#growTimer = setTimeout(() => this.#grow(), growIntervalMs).unref()
    }
  }
}

/**
 * The driver calls this function when the server asks for a password. Without a function, the
 * driver looks for a password by its own rules.
 */
const passwordFor = ({ database, password, user }: ConnectionString, { host, port }: Host) => {
  const known =
    password === undefined
      ? PasswordFile.passwordFor({ host, port, database, user })
      : Redacted.value(password)
  if (known !== undefined) return known
  throw new Error(`${user} has no password`)
}

/** True for errors after which the connection cannot be used, or is soon closed by the server. */
const isLast = (error: unknown) =>
  Failure.isDisconnection(error) || Failure.isStatementPooling(error)

/** A way to connect: one server, either with TLS or without. */
interface Way extends Host {
  readonly ssl: false | ConnectionOptions
}

/**
 * Chooses the way to connect (a server, with or without TLS) for each new connection, in the order
 * of the servers in the connection string. Ways that failed recently come last.
 */
class Routes {
  readonly #ways: Arr.NonEmptyReadonlyArray<Way>
  /** For each way to connect, when its server last failed, in milliseconds of `performance.now`. */
  readonly #failedAt = new Map<Way, number>()
  /**
   * For each way to connect, when it last failed because its server demands or refuses TLS, in
   * milliseconds of `performance.now`.
   */
  readonly #refusedAt = new Map<Way, number>()

  constructor(ways: Arr.NonEmptyReadonlyArray<Way>) {
    this.#ways = ways
  }

  choose(): Way {
    const now = performance.now()
    const since = (times: ReadonlyMap<Way, number>, way: Way) => {
      const at = times.get(way) ?? 0
      return now - at < avoidedMs ? at : 0
    }
    const byFailure = Order.mapInput(Order.number, (way: Way) => since(this.#failedAt, way))
    const byRefusal = Order.mapInput(Order.number, (way: Way) => since(this.#refusedAt, way))
    return Arr.min(this.#ways, Order.combine(byFailure, byRefusal))
  }

  fail(way: Way, error: unknown) {
    const unusable = unusableAfter(error)
    const now = performance.now()
    if (unusable === "way") this.#refusedAt.set(way, now)
    if (unusable !== "server") return
    for (const other of this.#ways) {
      if (isSameServer(other, way)) this.#failedAt.set(other, now)
    }
  }

  succeed(way: Way) {
    this.#failedAt.delete(way)
    this.#refusedAt.delete(way)
  }
}

const isSameServer = (one: Way, other: Way) => one.host === other.host && one.port === other.port

/**
 * Returns what cannot be used after the error: "way" when only this choice (TLS or no TLS) fails,
 * "server" when both choices fail, undefined for any other error.
 */
const unusableAfter = (error: unknown): "way" | "server" | undefined => {
  if (Failure.isEncryptionRefused(error)) return "way"
  return Failure.isDisconnection(error) ? "server" : undefined
}

/**
 * Returns the ways to connect to each server, in the order to try them: with or without TLS, as in
 * libpq's `sslmode`. Reads the certificate and key files; throws when a file cannot be read.
 */
const waysTo = (target: ConnectionString): Arr.NonEmptyReadonlyArray<Way> => {
  const encryptions = encryptionsOf(target)
  return Arr.flatMap(target.hosts, ({ host, port }) =>
    Arr.map(host.startsWith("/") ? plain : encryptions, (ssl) => ({ host, port, ssl })),
  )
}

type Encryptions = Arr.NonEmptyReadonlyArray<false | ConnectionOptions>

const plain: Encryptions = [false]

const encryptionsOf = ({
  sslCert,
  sslKey,
  sslMode,
  sslPassword,
  sslRootCert,
}: ConnectionString): Encryptions => {
  if (sslMode === "disable") return plain
  const own: ConnectionOptions = {
    ...(sslCert !== undefined && { cert: readFileSync(sslCert) }),
    ...(sslKey !== undefined && { key: readFileSync(sslKey) }),
    ...(sslPassword !== undefined && { passphrase: Redacted.value(sslPassword) }),
  }
  const unverified: ConnectionOptions = { ...own, rejectUnauthorized: false }
  if (sslMode === "allow") return [false, unverified]
  if (sslMode === "prefer") return [unverified, false]
  // As in libpq, `require` with a root certificate means `verify-ca`.
  if (sslMode === "require" && sslRootCert === undefined) return [unverified]
  const verified: ConnectionOptions = {
    ...own,
    ...(sslRootCert !== undefined && sslRootCert !== "system" && { ca: readFileSync(sslRootCert) }),
    rejectUnauthorized: true,
  }
  return [
    sslMode === "verify-full" || sslRootCert === "system"
      ? verified
      : { ...verified, checkServerIdentity: () => undefined },
  ]
}

/** Fails when the server cannot be written to. */
const examine = async (client: Pg.ClientBase) => {
  if ((await ask(client, "SHOW transaction_read_only")) !== "on") return
  const isStandby = await ask(client, "SELECT pg_is_in_recovery()::text")
  const reason =
    isStandby === "true" ? "the server is a standby" : "default_transaction_read_only is on"
  throw Object.assign(new Error(reason), { code: "25006" })
}

const ask = async (client: Pg.ClientBase, question: string) =>
  decodeAnswer((await client.query({ text: question, rowMode: "array" })).rows)[0][0]

const decodeAnswer = Schema.decodeUnknownSync(Schema.Tuple(Schema.Tuple(Schema.String)))

/**
 * Closes the connection after `silenceMs` without data. Otherwise, a dead network would cause no
 * error for about 15 minutes. The driver's own query timeout is not safe: the driver would send the
 * next query on the same connection, where the late answer could arrive.
 */
const socketWithTimeout = (silenceMs: number) => {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () => {
    const error = new Error(`no answer for ${silenceMs} ms`)
    socket.destroy(Object.assign(error, { code: "ETIMEDOUT" }))
  })
}
