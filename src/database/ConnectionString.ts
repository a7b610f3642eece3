/**
 * Reads connection strings with pg-connection-string, giving `sslmode` the meanings of libpq.
 * Refuses whatever the library or the driver would silently misread. The driver never falls back
 * from TLS to plain text.
 */
import * as Either from "effect/Either"
import { parse as parseUrl, toClientConfig } from "pg-connection-string"
import { StoreFailure } from "./StoreFailure.ts"

/** A server and a login, as the driver takes them. `ssl: false` means no TLS. */
export type ConnectionString = Either.Either.Right<ReturnType<typeof parse>>

const modes = "disable, require, verify-ca, verify-full"
const ofTls = ["sslmode", "sslrootcert", "sslcert", "sslkey"]
const known = `host, port, user, application_name, connect_timeout, options, ${ofTls.join(", ")}`

// A raw @, /, ? or # in the password would turn the rest into a host, a database or a parameter.
const shape = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)(?:\/([^/?#@]*))?)(?:\?([^#@]*))?$/

const unreadable = "a file that it names cannot be read; check its path and permissions: "
const expected =
  "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE; percent-encode special characters (%40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %25 for %)"

/**
 * Parses a connection string, and reads the certificate and key files that it names. Missing parts
 * come from libpq's environment variables. The error contains no text that may be secret.
 */
export const parse = (text: string, environment: Environment = process.env) =>
  Either.gen(function* () {
    const [, base, hosts, path = "", query] = shape.exec(text) ?? []
    if (base === undefined || /\s|%(?![\da-f]{2})/i.test(text)) return yield* refuse(expected)
    const given = new Map(new URLSearchParams(query))
    for (const name of ofTls)
      given.set(name, given.get(name) ?? environment[`PG${name.toUpperCase()}`] ?? "")
    const { PGHOST = "", PGPORT = "" } = environment
    const problem = problemOf(given, given.get("host") || hosts || PGHOST)
    if (problem !== undefined) return yield* refuse(problem)
    const url = `${base}?${new URLSearchParams([...given])}`
    const config = yield* Either.orElse(
      Either.try(() => toClientConfig(parseUrl(url, { useLibpqCompat: true }))),
      // The library's other errors may contain parts of the password.
      (error) =>
        refuse(
          error instanceof Error && "syscall" in error ? unreadable + error.message : expected,
        ),
    )
    const host = config.host || PGHOST || "localhost"
    const port = config.port ?? Number(PGPORT || 5432)
    if (!(port >= 1 && port <= 65_535)) return yield* refuse("expected a port from 1 to 65535")
    const user = config.user || environment["PGUSER"] || environment["USER"]
    if (!user) return yield* refuse(`it has no user; ${expected}`)
    const isLocal = /^(\/.*|localhost|127(\.\d{1,3}){3}|::1)$/i.test(host)
    const ssl = config.ssl ?? (isLocal ? false : {})
    return {
      host,
      port,
      user,
      password: config.password || environment["PGPASSWORD"],
      // The library leaves characters such as %2F and %3F encoded.
      database: decodeURIComponent(path) || environment["PGDATABASE"] || user,
      // As in libpq, a connection by a Unix socket has no TLS.
      ssl: host.startsWith("/") || ssl === true ? false : ssl,
      application_name: config.application_name || environment["PGAPPNAME"] || "authority",
      connectionTimeoutMillis: Number(given.get("connect_timeout") ?? 5) * 1000,
      options: config.options,
    }
  })

type Environment = Readonly<Record<string, string | undefined>>

const refuse = (problem: string) =>
  Either.left(new StoreFailure({ message: `AUTHORITY_DATABASE_URL: ${problem}` }))

const problemOf = (given: ReadonlyMap<string, string>, host: string): string | undefined => {
  const unknown = Array.from(given.keys()).find((name) => !known.split(", ").includes(name))
  const mode = given.get("sslmode")
  if (unknown !== undefined)
    return `the parameter ${encodeURIComponent(unknown)} is not supported; the parameters are ${known}`
  if (host.includes(","))
    return "expected one host, not a list of hosts; put PgBouncer, HAProxy or a virtual address in front of several servers"
  if (mode && !modes.split(", ").includes(mode))
    return `sslmode=${mode} is not supported; use ${modes}`
  if (mode === "verify-ca" && !given.get("sslrootcert"))
    return "sslmode=verify-ca needs sslrootcert, the file of the certificate authority to trust"
  if (!/^[1-9]\d{0,2}$/.test(given.get("connect_timeout") ?? "5"))
    return "connect_timeout must be a whole number of seconds from 1 to 999"
  return undefined
}

/**
 * Returns only user, host, port and database of a connection string; `postgres://…` if the string
 * is invalid.
 */
export const shown = (text: string, environment: Environment = process.env): string =>
  Either.match(parse(text, environment), {
    onLeft: () => "postgres://…",
    onRight: ({ database, host, port, user }) =>
      `postgres://${encodeURIComponent(user)}@${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}/${encodeURIComponent(database)}`,
  })
