/**
 * Parses connection strings as libpq does:
 * https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 */
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { nearestName } from "../text/nearestName.ts"

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
const sessionAttributes = ["any", "read-write", "primary"] as const

export type SslMode = (typeof sslModes)[number]
export type TargetSessionAttrs = (typeof sessionAttributes)[number]

export interface Host {
  /** A name, an address, or the folder of a Unix socket, which begins with a slash. */
  readonly host: string
  readonly port: number
}

export interface ConnectionString {
  /** At least one host, in the order in which they are tried. */
  readonly hosts: readonly [Host, ...ReadonlyArray<Host>]
  readonly user: string
  /**
   * Undefined when neither the string nor PGPASSWORD has a password; `PostgresPool` then looks into
   * libpq's password file.
   */
  readonly password: Redacted.Redacted | undefined
  readonly database: string
  readonly targetSessionAttrs: TargetSessionAttrs
  readonly sslMode: SslMode
  /** A file of certificate authorities, or `system` for those that Node.js trusts. */
  readonly sslRootCert: string | undefined
  readonly sslCert: string | undefined
  readonly sslKey: string | undefined
  /** The password of the file `sslKey`. */
  readonly sslPassword: Redacted.Redacted | undefined
  readonly connectTimeoutMs: number | undefined
  readonly applicationName: string | undefined
  /** Command-line options of the server, such as `-c search_path=authority`. */
  readonly options: string | undefined
}

/** The connection string is invalid. `problem` says why, and shows no text that may be a secret. */
export class InvalidConnectionString extends Data.TaggedError("InvalidConnectionString")<{
  readonly problem: string
}> {
  override get message() {
    return `AUTHORITY_DATABASE_URL: ${this.problem}`
  }
}

type Parsed<A> = Either.Either<A, InvalidConnectionString>

const refuse = (problem: string) => Either.left(new InvalidConnectionString({ problem }))

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Parses a connection string. Missing parameters come from libpq's environment variables. Never
 * throws.
 */
export const parse = (
  text: string,
  environment: Environment = process.env,
): Parsed<ConnectionString> =>
  Either.gen(function* () {
    const parts = yield* split(text)
    const given = yield* parametersOf(parts)
    const value = (name: Parameter): string | undefined =>
      given.get(name) || environment[parameters[name]] || undefined
    const secret = (name: Parameter) => {
      const text = value(name)
      return text === undefined ? undefined : Redacted.make(text)
    }

    const user = value("user") ?? environment["USER"] ?? environment["USERNAME"]
    if (user === undefined || user === "") {
      return yield* refuse("it has no user; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
    }
    return {
      hosts: yield* hostsOf(value("host"), value("port")),
      user,
      password: secret("password"),
      database: value("dbname") ?? user,
      targetSessionAttrs: yield* sessionAttributeOf(value("target_session_attrs")),
      ...(yield* sslOf(value)),
      sslPassword: secret("sslpassword"),
      connectTimeoutMs: yield* timeoutOf(value("connect_timeout")),
      applicationName: value("application_name") ?? value("fallback_application_name"),
      options: value("options"),
    }
  })

/**
 * Shows user, hosts, ports and database of a connection string, and never anything else. An invalid
 * string is shown as `postgres://…`.
 */
export const shown = (text: string, environment: Environment = process.env): string =>
  Either.match(parse(text, environment), {
    onLeft: () => "postgres://…",
    onRight: ({ database, hosts, user }) =>
      `postgres://${encodeURIComponent(user)}@${hosts.map(shownHost).join(",")}/${encodeURIComponent(database)}`,
  })

const shownHost = ({ host, port }: Host) =>
  `${host.includes(":") ? `[${host}]` : encodeURIComponent(host)}:${port}`

interface Parts {
  readonly credentials: string | undefined
  readonly authority: string
  readonly database: string
  readonly query: string
}

/**
 * Splits the connection string into its parts. As in libpq, user and password end at the first `@`,
 * if no slash comes before this `@`.
 */
const split = (text: string): Parsed<Parts> => {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(text)
  if (match === null) return refuse("expected postgres://USER:PASSWORD@HOST:PORT/DATABASE")
  const [, credentials, authority = "", database = "", query = ""] = match
  const isAmbiguous = `${authority}/${database}`.includes("@")
  const isMisread = credentials === undefined && query.includes("@")
  if (isAmbiguous || isMisread) return refuse(rawCharacter)
  return Either.right({ credentials, authority, database, query })
}

const rawCharacter =
  "user or password has a raw character; percent-encode it (%40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %25 for %)"

/**
 * Returns the parameters of a connection string, keyed by libpq's parameter names. A parameter
 * after the `?` overrides the same parameter before the `?`.
 */
const parametersOf = ({
  authority,
  credentials = "",
  database,
  query,
}: Parts): Parsed<ReadonlyMap<Parameter, string>> =>
  Either.gen(function* () {
    const [, user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(credentials) ?? []
    const hosts = yield* authorityOf(authority)
    const given = new Map<Parameter, string>([
      ["user", yield* decode(user)],
      ["password", yield* decode(password)],
      ["host", yield* decode(hosts.host)],
      ["port", hosts.port],
      ["dbname", yield* decode(database)],
    ])
    let previous = ""
    for (const pair of query.split("&").filter((pair) => pair !== "")) {
      const [, name, raw] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
      if (name === undefined || raw === undefined) {
        return yield* refuse('a parameter has no "="; percent-encode "&" in a value as %26')
      }
      const value = yield* decode(raw)
      if (isParameter(name)) given.set(name, value)
      else if (name === "ssl" && value === "true") given.set("sslmode", "require")
      else if (acceptedValues.get(name)?.test(value) !== true) {
        return yield* refuse(
          // When a password contains a raw `&`, `name` may be a part of the password. Do not show
          // such a name.
          query.includes("@") || /^(ssl)?password$/.test(previous) || !/^\w{1,40}$/.test(name)
            ? `a parameter is unknown, perhaps because ${rawCharacter}, and & as %26`
            : complaintAbout(name),
        )
      }
      previous = name
    }
    return given
  })

/** Splits `a:1,[::1],c:3` into libpq's lists `host` and `port`. */
const authorityOf = (
  authority: string,
): Parsed<{ readonly host: string; readonly port: string }> => {
  const hosts = authority
    .split(",")
    .map((text) => /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(text))
  if (!hosts.every((host) => host !== null)) {
    return refuse(
      `expected HOST:PORT, and an IPv6 address in brackets; if these are right, ${rawCharacter}`,
    )
  }
  const names = hosts.map(([, address, name]) => address ?? name ?? "")
  const ports = hosts.map(([, , , port]) => port ?? "")
  return Either.right({
    // A list in which every item is empty counts as absent.
    host: names.join(",").replace(/^,+$/, ""),
    port: ports.join(",").replace(/^,+$/, ""),
  })
}

const hostsOf = (
  hostList = "localhost",
  portList = "",
): Parsed<readonly [Host, ...ReadonlyArray<Host>]> => {
  const hosts = hostList.split(",").map((host) => (host === "" ? "localhost" : host))
  const ports = portList.split(",").map((port) => (port === "" ? 5432 : Number(port)))
  if (!hosts.every((host) => /^(\/|[^/]*$)/.test(host) && !/[\s@]/.test(host))) {
    return refuse("a host is neither a name, an address nor the absolute path of a socket's folder")
  }
  if (!ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    return refuse(`expected ports from 1 to 65535; if the port is right, ${rawCharacter}`)
  }
  if (ports.length !== 1 && ports.length !== hosts.length) {
    return refuse(
      `${ports.length} ports do not match ${hosts.length} hosts; give one port, or one for each host`,
    )
  }
  const [first, ...rest] = hosts.map((host, index) => ({
    host,
    port: ports[ports.length === 1 ? 0 : index] ?? 5432,
  }))
  return first === undefined
    ? refuse("it has no host; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
    : Either.right([first, ...rest])
}

const sessionAttributeOf = (value: string = "any"): Parsed<TargetSessionAttrs> => {
  const known = sessionAttributes.find((name) => name === value)
  if (known !== undefined) return Either.right(known)
  return refuse(
    /^(read-only|standby|prefer-standby)$/.test(value)
      ? `target_session_attrs=${value} finds a server that cannot be written to; use read-write`
      : `target_session_attrs must be one of ${sessionAttributes.join(", ")}`,
  )
}

const sslOf = (value: (name: Parameter) => string | undefined) =>
  Either.gen(function* () {
    const sslRootCert = value("sslrootcert")
    const given = value("sslmode") ?? (sslRootCert === "system" ? "verify-full" : "prefer")
    const sslMode = sslModes.find((name) => name === given)
    if (sslMode === undefined) {
      return yield* refuse(
        given === "no-verify"
          ? "sslmode=no-verify is not a mode of libpq; use require, which encrypts without verifying"
          : `sslmode must be one of ${sslModes.join(", ")}`,
      )
    }
    if (sslRootCert === "system" && sslMode !== "verify-full") {
      return yield* refuse("sslrootcert=system needs sslmode=verify-full")
    }
    if (sslMode === "verify-ca" && sslRootCert === undefined) {
      return yield* refuse(
        "sslmode=verify-ca needs sslrootcert, the file of the authority to trust; verify-full does not need it",
      )
    }
    const sslCert = value("sslcert")
    const sslKey = value("sslkey")
    if ((sslCert === undefined) !== (sslKey === undefined)) {
      return yield* refuse("sslcert and sslkey belong together; name both files, or none")
    }
    return { sslMode, sslRootCert, sslCert, sslKey }
  })

/** libpq reads 0 as "no timeout". This program rejects 0. */
const timeoutOf = (value?: string): Parsed<number | undefined> => {
  if (value === undefined) return Either.right(undefined)
  const seconds = /^\d{1,4}$/.test(value) ? Number(value) : 0
  return seconds >= 1 && seconds <= maxTimeoutSeconds
    ? Either.right(seconds * 1000)
    : refuse(`connect_timeout must be a whole number of seconds from 1 to ${maxTimeoutSeconds}`)
}

const maxTimeoutSeconds = 600

const decode = (text: string): Parsed<string> => {
  if (/%(?![\da-f]{2})|%00/i.test(text))
    return refuse("a % does not begin a valid percent-encoding; write %25 for a %")
  return Either.try({
    try: () => decodeURIComponent(text),
    catch: () => new InvalidConnectionString({ problem: "a percent-encoding is not valid UTF-8" }),
  })
}

/**
 * Maps each supported parameter to the environment variable that libpq reads for it; "" when libpq
 * has no such variable.
 */
const parameters = {
  user: "PGUSER",
  password: "PGPASSWORD",
  host: "PGHOST",
  port: "PGPORT",
  dbname: "PGDATABASE",
  target_session_attrs: "PGTARGETSESSIONATTRS",
  connect_timeout: "PGCONNECT_TIMEOUT",
  application_name: "PGAPPNAME",
  fallback_application_name: "",
  options: "PGOPTIONS",
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  sslpassword: "",
} as const

type Parameter = keyof typeof parameters

const isParameter = (name: string): name is Parameter => Object.hasOwn(parameters, name)

/**
 * The accepted values of some parameters. These values ask for what this program does anyway, so
 * they have no effect. Any other value of these parameters is an error.
 */
const acceptedValues: ReadonlyMap<string, RegExp> = new Map([
  ["client_encoding", /^(auto|utf-?8)$/i],
  ["channel_binding", /^(disable|prefer)$/],
  ["gssencmode", /^(disable|prefer)$/],
  ["load_balance_hosts", /^disable$/],
  ["replication", /^(false|off|no|0)$/],
  ["ssl_min_protocol_version", /^TLSv1(\.[12])?$/],
  ["sslcompression", /^0$/],
  ["sslnegotiation", /^postgres$/],
  ["sslsni", /^1$/],
  // A parameter of the driver pg, not of libpq. It makes pg treat `sslmode` as libpq does.
  ["uselibpqcompat", /^true$/],
])

const each = (names: string, advice: string) =>
  names.split(/\s+/).map((name) => [name, advice] as const)

/** Parameters of libpq that are not supported, and what to do instead. */
const refused: ReadonlyMap<string, string> = new Map([
  ["hostaddr", "write the address as the host"],
  ["service", "put the service's parameters into the string"],
  ["servicefile", "put the service's parameters into the string"],
  ["passfile", "name the file in the environment variable PGPASSFILE"],
  ["channel_binding", "use channel_binding=prefer, or sslmode=verify-full"],
  ["load_balance_hosts", "leave it out, because hosts are tried in order"],
  ["client_encoding", "leave it out, because the program always uses UTF-8"],
  ...each(
    "keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout",
    "leave it out, because a silent connection is always given up after 15 s",
  ),
  ...each(
    `replication requirepeer require_auth gssencmode gsslib gssdelegation krbsrvname sslcompression
    sslnegotiation sslcrl sslcrldir sslsni sslcertmode sslkeylogfile ssl_min_protocol_version
    ssl_max_protocol_version min_protocol_version max_protocol_version scram_client_key
    scram_server_key oauth_issuer oauth_client_id oauth_client_secret oauth_scope`,
    "leave it out",
  ),
])

const complaintAbout = (name: string): string => {
  const advice = refused.get(name)
  if (advice !== undefined) {
    const what = acceptedValues.has(name) ? `this value of ${name}` : `the parameter ${name}`
    return `${what} is not supported; ${advice}`
  }
  const nearest = nearestName(name, Object.keys(parameters))
  return nearest === undefined
    ? `there is no parameter ${name}; the parameters are ${Object.keys(parameters).join(", ")}`
    : `there is no parameter ${name}; did you mean ${nearest}?`
}
