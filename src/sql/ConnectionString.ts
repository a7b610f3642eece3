/**
 * Reads connection strings by pg-connection-string, with libpq's meanings of `sslmode`. Refuses what
 * the library or the driver would silently take for something else.
 */
import type { ConnectionOptions } from "node:tls"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type { ClientConfig } from "pg"
import { parse as parseUrl, toClientConfig } from "pg-connection-string"

/** A server and a login, as the driver takes them. Without `password`, ~/.pgpass may have one. */
export interface ConnectionString extends Pick<
  ClientConfig,
  "application_name" | "connectionTimeoutMillis" | "options"
> {
  /** A name, an address, or the folder of a Unix socket, which begins with a slash. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: Redacted.Redacted | undefined
  readonly database: string
  /** False: without TLS. The driver never falls back from TLS to plain text. */
  readonly ssl: false | ConnectionOptions
}

/** The connection string is invalid. `problem` says why, and shows no text that may be a secret. */
export class InvalidConnectionString extends Data.TaggedError("InvalidConnectionString")<{
  readonly problem: string
}> {
  override get message() {
    return `AUTHORITY_DATABASE_URL: ${this.problem}`
  }
}

const refuse = (problem: string) => Either.left(new InvalidConnectionString({ problem }))

type Environment = Readonly<Record<string, string | undefined>>

const sslModes = ["disable", "require", "verify-ca", "verify-full"]

const sslParameters = ["sslmode", "sslrootcert", "sslcert", "sslkey"]

const parameters = [
  "host",
  "port",
  "user",
  "application_name",
  "connect_timeout",
  "options",
].concat(sslParameters)

const defaultTimeoutMs = 5_000

/**
 * Parses a connection string, and reads the certificate and key files that it names. Missing parts
 * come from libpq's environment variables. Never throws.
 */
export const parse = (
  text: string,
  environment: Environment = process.env,
): Either.Either<ConnectionString, InvalidConnectionString> =>
  Either.gen(function* () {
    const [base, path, given] = yield* split(text, environment)
    yield* checkParameters(given)
    const config = yield* Either.try({
      try: () => ({
        ...toClientConfig(
          parseUrl(`${base}?${new URLSearchParams([...given])}`, { useLibpqCompat: true }),
        ),
        // The library leaves characters such as %2F and %3F encoded.
        database: decodeURIComponent(path),
      }),
      // The library's other errors may show parts of the password.
      catch: (error) =>
        new InvalidConnectionString({
          problem:
            Predicate.hasProperty(error, "syscall") && error instanceof Error
              ? `a file that it names cannot be read; check its path and permissions (${error.message})`
              : expected,
        }),
    })

    const host = config.host || environment["PGHOST"] || "localhost"
    const port = config.port ?? Number(environment["PGPORT"] || 5432)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      return yield* refuse("expected a port from 1 to 65535")
    }
    const user = config.user || environment["PGUSER"] || environment["USER"]
    if (!user) return yield* refuse(`it has no user; ${expected}`)
    const password = config.password || environment["PGPASSWORD"]
    return {
      host,
      port,
      user,
      password: typeof password === "string" ? Redacted.make(password) : undefined,
      database: config.database || environment["PGDATABASE"] || user,
      ssl: sslOf(host, config.ssl),
      application_name: config.application_name || environment["PGAPPNAME"] || "authority",
      connectionTimeoutMillis: yield* timeoutOf(given.get("connect_timeout")),
      options: config.options,
    }
  })

/**
 * Shows user, host, port and database of a connection string, and never anything else. An invalid
 * string is shown as `postgres://…`.
 */
export const shown = (text: string, environment: Environment = process.env): string =>
  Either.match(parse(text, environment), {
    onLeft: () => "postgres://…",
    onRight: ({ database, host, port, user }) =>
      `postgres://${encodeURIComponent(user)}@${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}/${encodeURIComponent(database)}`,
  })

const expected =
  "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE; percent-encode special characters (%40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %25 for %)"

/**
 * Returns the part before the parameters, its path, and the parameters. Refuses a text with a raw
 * `@`, `/`, `?` or `#` in the password, whose rest would be taken for a host, a database or a
 * parameter.
 */
const split = (text: string, environment: Environment) => {
  const [, base, hosts, path = "", query] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)(?:\/([^/?#@]*))?)(?:\?([^#@]*))?$/.exec(text) ??
    []
  if (base === undefined || /\s|%(?![\da-f]{2})/i.test(text)) return refuse(expected)
  const given = new Map([
    ...sslParameters.flatMap((name) => {
      const value = environment[`PG${name.toUpperCase()}`]
      return value ? [[name, value] as const] : []
    }),
    // The last of several values counts, as in the library.
    ...new URLSearchParams(query),
  ])
  return (given.get("host") || hosts || environment["PGHOST"] || "").includes(",")
    ? refuse(
        "expected one host, not a list of hosts; put PgBouncer, HAProxy or a virtual address in front of several servers",
      )
    : Either.right([base, path, given] as const)
}

const checkParameters = (given: ReadonlyMap<string, string>) => {
  const unknown = Array.from(given.keys()).find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    const name = /^\w{1,40}$/.test(unknown) ? `the parameter ${unknown}` : "a parameter"
    return refuse(`${name} is not supported; the parameters are ${parameters.join(", ")}`)
  }
  const mode = given.get("sslmode")
  if (mode !== undefined && !sslModes.includes(mode)) {
    return refuse(`sslmode=${mode} is not supported; use ${sslModes.join(", ")}`)
  }
  const authority = given.get("sslrootcert")
  if (authority === "system") {
    return refuse(
      "sslrootcert=system is not supported; sslmode=verify-full without sslrootcert trusts the certificate authorities of Node.js",
    )
  }
  return mode === "verify-ca" && !authority
    ? refuse("sslmode=verify-ca needs sslrootcert, the file of the certificate authority to trust")
    : Either.void
}

// Without any parameter about TLS, uses none on this machine and verifies the certificate of every
// other host. As in libpq, a Unix socket has no TLS.
const sslOf = (host: string, ssl: ClientConfig["ssl"]) => {
  if (host.startsWith("/")) return false
  if (typeof ssl === "object" || ssl === false) return ssl
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host) ? false : {}
}

const timeoutOf = (seconds?: string) => {
  if (seconds === undefined) return Either.right(defaultTimeoutMs)
  return /^\d{1,3}$/.test(seconds) && Number(seconds) > 0
    ? Either.right(Number(seconds) * 1000)
    : refuse("connect_timeout must be a whole number of seconds from 1 to 999")
}
