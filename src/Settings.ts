/** Declares every setting with its default and limits. Values come from environment variables. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { TimeSpan } from "./accounts/TimeSpan.ts"

/** The name, default and description of a setting. `authority doctor` hides secret values. */
export interface About {
  readonly name: string
  /** The default, as the text of the environment variable; undefined when there is none. */
  readonly default: string | undefined
  readonly description: string
  readonly isSecret: boolean
}

/** Settings have invalid values. `message` names each of them. */
export class InvalidSetting extends Data.TaggedError("InvalidSetting")<{
  readonly message: string
}> {}

const setting = <A>(
  name: string,
  defaultValue: string,
  schema: Schema.Schema<A, string>,
  description: string,
) => {
  const about: About = { name, default: defaultValue, description, isSecret: false }
  return Object.assign(schema.annotations({}), { about })
}

const optional = <A>(name: string, schema: Schema.Schema<A, string>, description: string) => {
  const about: About = { name, default: undefined, description, isSecret: false }
  return Object.assign(Schema.optionalWith(schema, { exact: true }), { about })
}

/** Replaces every error message of a schema by `expected …`. */
const expecting = <A>(
  expectation: string,
  schema: Schema.Schema<A, string>,
): Schema.Schema<A, string> =>
  schema.annotations({ message: () => ({ message: `expected ${expectation}`, override: true }) })

const oneOf = <const Names extends readonly [string, ...Array<string>]>(...names: Names) =>
  expecting(`one of ${names.join(", ")}`, Schema.Literal(...names))

export const ProviderName = Schema.Literal(
  "sandbox",
  "moz",
  "moz-links-v2",
  "open-page-rank",
  "dataforseo",
  "http",
  "dataset",
)
export type ProviderName = typeof ProviderName.Type

const providers = expecting(
  `one or more of ${ProviderName.literals.join(", ")}, separated by commas, without duplicates, and sandbox (synthetic figures) only alone`,
  Schema.split(",").pipe(
    Schema.compose(Schema.NonEmptyArray(Schema.compose(Schema.Trim, ProviderName))),
    Schema.filter((names) => new Set(names).size === names.length),
    Schema.filter((names) => names.length === 1 || !names.includes("sandbox")),
  ),
)

const whole = (min: number, max: number) =>
  expecting(
    `a whole number from ${min} to ${max}`,
    Schema.NumberFromString.pipe(Schema.int(), Schema.between(min, max)),
  )

const port = whole(0, 65_535)

const timeSpan = (min: Duration.DurationInput, max: Duration.DurationInput) =>
  expecting(
    `a length of time such as 500ms, 10s, 5m or 24h, from ${Duration.format(min)} to ${Duration.format(max)}`,
    TimeSpan.pipe(Schema.filter(Duration.between({ minimum: min, maximum: max }))),
  )

const lifetime = timeSpan("0 millis", "3650 days")

const httpUrl = expecting(
  "an http or https address",
  Schema.NonEmptyString.pipe(
    Schema.filter((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)),
  ),
)

const origins = expecting(
  "origins such as https://app.example.com, separated by commas, or *",
  Schema.split(",").pipe(
    Schema.compose(Schema.Array(Schema.Trim)),
    Schema.filter((list) =>
      list.every((origin) => origin === "*" || URL.parse(origin)?.origin === origin),
    ),
  ),
)

/** A number of requests per time span, for example `600/1m`. */
const rate = expecting(
  "a number and a length of time such as 600/1m, at most 3650d",
  Schema.split("/").pipe(
    Schema.compose(Schema.Tuple(Schema.NumberFromString, TimeSpan)),
    Schema.filter(
      ([requests, per]) =>
        Number.isSafeInteger(requests) && requests > 0 && Duration.greaterThan(per, Duration.zero),
    ),
    Schema.transform(Schema.Struct({ requests: Schema.Number, per: Schema.DurationFromSelf }), {
      strict: true,
      decode: ([requests, per]) => ({ requests, per }),
      encode: ({ per, requests }) => [requests, per] as const,
    }),
  ),
)

const ceiling = (vendor: string, about: string) =>
  optional(
    `AUTHORITY_${vendor}_CEILING`,
    expecting(
      "a number of rows a month such as 3000/month",
      Schema.String.pipe(
        Schema.pattern(/^\d{1,12}\/month$/),
        Schema.transform(Schema.Number, {
          strict: true,
          decode: (text) => Number.parseInt(text, 10),
          encode: (rows) => `${rows}/month`,
        }),
        Schema.greaterThan(0),
      ),
    ),
    `maximum rows a UTC month ${about}, for example 3000/month`,
  )

const amount = expecting(
  "an amount such as 2.50, from 0 to 1000000, with at most six decimals",
  Schema.String.pipe(
    Schema.pattern(/^\d{1,7}(\.\d{1,6})?$/),
    Schema.transform(Schema.Number, {
      strict: true,
      decode: (text) => Math.round(Number(text) * 1e6),
      encode: (millionths) => String(millionths / 1e6),
    }),
    Schema.lessThanOrEqualTo(1e12),
  ),
)

const price = (vendor: string, about: string) =>
  optional(
    `AUTHORITY_${vendor}_PRICE`,
    amount,
    `the price of 1,000 rows ${about}, in the vendor's currency`,
  )

const secret = <A>(name: string, description: string, schema: Schema.Schema<A, string>) => {
  const hidden = optional(name, schema, description)
  return Object.assign(hidden, { about: { ...hidden.about, isSecret: true } })
}

const token = (name: string, description: string) =>
  secret(name, description, Schema.Redacted(Schema.NonEmptyString))

const address = (name: string, defaultValue: string, about: string) =>
  setting(name, defaultValue, httpUrl, `the address of ${about}`)

/** The token of the administration, without surrounding spaces and line ends. */
export const adminToken = expecting(
  "a token of 32 or more printable ASCII characters without spaces",
  Schema.compose(Schema.Trim, Schema.Redacted(Schema.String.pipe(Schema.pattern(/^[!-~]{32,}$/)))),
)

/** The kind and the location of the store. Redacted, because it may contain a password. */
const databaseUrl = expecting(
  "sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/DATABASE",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^(sqlite:.|postgres(ql)?:\/\/)/))),
)

/** All settings, by their property names in `Settings`. */
export const all = {
  host: setting("AUTHORITY_HOST", "127.0.0.1", Schema.NonEmptyString, "the address to listen on"),
  port: setting("AUTHORITY_PORT", "8080", port, "the port to listen on; 0 picks a free port"),
  adminToken: secret(
    "AUTHORITY_ADMIN_TOKEN",
    "the token of the HTTP administration, which is off without a token",
    adminToken,
  ),
  adminTokenFile: optional(
    "AUTHORITY_ADMIN_TOKEN_FILE",
    Schema.NonEmptyString,
    "a file with the token of the HTTP administration",
  ),
  adminHost: setting(
    "AUTHORITY_ADMIN_HOST",
    "127.0.0.1",
    Schema.NonEmptyString,
    "the address to listen on for the HTTP administration, if AUTHORITY_ADMIN_PORT is set",
  ),
  adminPort: optional(
    "AUTHORITY_ADMIN_PORT",
    port,
    "a port of its own for the HTTP administration (default: AUTHORITY_PORT); 0 picks a free port",
  ),
  databaseUrl: setting(
    "AUTHORITY_DATABASE_URL",
    "sqlite:authority.db",
    databaseUrl,
    "the database of accounts, keys and credits",
  ),
  databaseConnections: setting(
    "AUTHORITY_DATABASE_CONNECTIONS",
    "4",
    whole(1, 100),
    "maximum connections of a serving process to PostgreSQL",
  ),
  providers: setting(
    "AUTHORITY_PROVIDER",
    "sandbox",
    providers,
    "the providers of figures, separated by commas; each provider is asked for the figures that the earlier providers do not have",
  ),
  mozToken: token("AUTHORITY_MOZ_TOKEN", "the token of the Moz API"),
  mozUrl: address("AUTHORITY_MOZ_URL", "https://api.moz.com/jsonrpc", "the Moz API"),
  mozPrice: price("MOZ", "of Moz"),
  mozCeiling: ceiling("MOZ", "of Moz"),
  mozLinksV2Token: token(
    "AUTHORITY_MOZ_LINKS_V2_TOKEN",
    "the token of the Moz Links API, or its ID:SECRET",
  ),
  mozLinksV2Url: address(
    "AUTHORITY_MOZ_LINKS_V2_URL",
    "https://lsapi.seomoz.com/v2",
    "the Moz Links API",
  ),
  mozLinksV2Price: price("MOZ_LINKS_V2", "of the Moz Links API"),
  mozLinksV2Ceiling: ceiling("MOZ_LINKS_V2", "of the Moz Links API"),
  openPageRankKey: token("AUTHORITY_OPEN_PAGE_RANK_KEY", "the API key of Open PageRank"),
  openPageRankUrl: address(
    "AUTHORITY_OPEN_PAGE_RANK_URL",
    "https://openpagerank.keywordseverywhere.com/v1/domains/bulk",
    "the Open PageRank API",
  ),
  openPageRankPrice: price("OPEN_PAGE_RANK", "of Open PageRank"),
  openPageRankCeiling: ceiling("OPEN_PAGE_RANK", "of Open PageRank"),
  dataforseoLogin: optional(
    "AUTHORITY_DATAFORSEO_LOGIN",
    Schema.NonEmptyString,
    "the API login of DataForSEO",
  ),
  dataforseoPassword: token("AUTHORITY_DATAFORSEO_PASSWORD", "the API password of DataForSEO"),
  dataforseoUrl: address(
    "AUTHORITY_DATAFORSEO_URL",
    "https://api.dataforseo.com/v3",
    "the DataForSEO API",
  ),
  dataforseoPrice: price("DATAFORSEO", "of DataForSEO"),
  dataforseoCeiling: ceiling("DATAFORSEO", "of DataForSEO"),
  httpUrl: optional("AUTHORITY_HTTP_URL", httpUrl, "the endpoint of the provider http"),
  httpToken: token("AUTHORITY_HTTP_TOKEN", "the bearer token that the provider http expects"),
  httpPrice: price("HTTP", "of the provider http"),
  httpCeiling: ceiling("HTTP", "of the provider http"),
  providerTimeout: setting(
    "AUTHORITY_PROVIDER_TIMEOUT",
    "10s",
    timeSpan("10 millis", "10 minutes"),
    "timeout of one call to a provider",
  ),
  requestTimeout: setting(
    "AUTHORITY_REQUEST_TIMEOUT",
    "30s",
    timeSpan("10 millis", "10 minutes"),
    "timeout of one request of a client",
  ),
  shutdownTimeout: setting(
    "AUTHORITY_SHUTDOWN_TIMEOUT",
    "10s",
    timeSpan("0 millis", "10 minutes"),
    "time for requests in flight to finish when the service stops",
  ),
  creditPrice: setting(
    "AUTHORITY_CREDIT_PRICE",
    "1",
    whole(1, 1_000_000),
    "whole credits for each successful check",
  ),
  creditValue: optional(
    "AUTHORITY_CREDIT_VALUE",
    amount,
    "what a customer pays for one credit, for example 0.01; the operator's overview then shows revenue and margin",
  ),
  currency: setting(
    "AUTHORITY_CURRENCY",
    "USD",
    expecting(
      "three capital letters such as USD",
      Schema.String.pipe(Schema.pattern(/^[A-Z]{3}$/)),
    ),
    "the currency of AUTHORITY_CREDIT_VALUE and of the vendors' prices in the operator's overview; nothing is converted",
  ),
  providerConcurrency: setting(
    "AUTHORITY_PROVIDER_CONCURRENCY",
    "16",
    whole(1, 1000),
    "number of calls to one provider that may be in flight",
  ),
  cacheTtl: setting(
    "AUTHORITY_CACHE_TTL",
    "24h",
    lifetime,
    "lifetime of cached figures; 0s turns the cache off",
  ),
  cacheMinAge: setting(
    "AUTHORITY_CACHE_MIN_AGE",
    "0s",
    lifetime,
    "least age at which a client's Cache-Control: max-age may buy figures anew",
  ),
  cacheStaleIfError: setting(
    "AUTHORITY_CACHE_STALE_IF_ERROR",
    "0s",
    lifetime,
    "how long past their lifetime cached figures still answer, and are charged, when the provider fails",
  ),
  cacheUnknownTtl: setting(
    "AUTHORITY_CACHE_UNKNOWN_TTL",
    "1h",
    lifetime,
    "how long a provider is not asked again for a target that it does not know",
  ),
  history: setting(
    "AUTHORITY_HISTORY",
    "730d",
    lifetime,
    "how long the history of figures is kept, if the cache is on; 0s turns it off",
  ),
  cacheCapacity: setting(
    "AUTHORITY_CACHE_CAPACITY",
    "100000",
    whole(1, 100_000_000),
    "maximum pages whose figures each provider keeps in memory; an address counts once for each 200 characters; the least recently used go first",
  ),
  rateLimit: optional(
    "AUTHORITY_RATE_LIMIT",
    rate,
    "maximum requests of one account per time span, for example 600/1m",
  ),
  maxConnections: setting(
    "AUTHORITY_MAX_CONNECTIONS",
    "10000",
    whole(1, 1_000_000),
    "maximum concurrent connections; more are refused",
  ),
  logLevel: setting(
    "AUTHORITY_LOG_LEVEL",
    "info",
    oneOf("trace", "debug", "info", "warning", "error", "fatal", "none"),
    "the minimum severity of messages to log",
  ),
  logFormat: setting(
    "AUTHORITY_LOG_FORMAT",
    "auto",
    oneOf("auto", "pretty", "json"),
    "pretty for people, json for JSON lines; auto is pretty on a terminal and json elsewhere",
  ),
  corsOrigins: optional(
    "AUTHORITY_CORS_ORIGINS",
    origins,
    "origins whose pages may call the HTTP API from a browser",
  ),
  mcp: setting(
    "AUTHORITY_MCP",
    "on",
    oneOf("on", "off"),
    "on serves agents at /mcp by the Model Context Protocol",
  ),
  mcpApproveAbove: setting(
    "AUTHORITY_MCP_APPROVE_ABOVE",
    "10",
    whole(0, 1_000_000_000),
    "an agent's check that may cost more credits than this needs its user's approval",
  ),
  otlpEndpoint: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    httpUrl,
    "the OTLP receiver of traces, metrics and logs",
  ),
  otelServiceName: setting(
    "OTEL_SERVICE_NAME",
    "authority-metrics",
    Schema.NonEmptyString,
    "the name of this service in its telemetry",
  ),
} as const

const Values = Schema.Struct(all)

export class Settings extends Context.Tag("authority/Settings")<Settings, typeof Values.Type>() {}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings. InvalidSetting names each invalid setting and what it expects. */
export const from = (environment: Environment): Layer.Layer<Settings, InvalidSetting> =>
  Layer.effect(
    Settings,
    Either.mapLeft(
      decodeValues(textsOf(environment)),
      (error) => new InvalidSetting({ message: complaints(error).join("; ") }),
    ),
  )

export const layer: Layer.Layer<Settings, InvalidSetting> = Layer.suspend(() => from(process.env))

/**
 * Returns the environment variables that begin with AUTHORITY_ but belong to no setting. `nearest`
 * is the name of the most similar setting.
 */
export const unknownNames = (
  environment: Environment,
): ReadonlyArray<{ readonly name: string; readonly nearest: string | undefined }> => {
  const known = Object.values(all).map(({ about }) => about.name)
  const shortened = new Map(known.map((name) => [name.replace(prefix, ""), name]))
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !known.includes(name) && !ofClients.has(name))
    .map((name) => {
      const nearest = nearestName(name.replace(prefix, ""), shortened.keys())
      return { name, nearest: nearest === undefined ? undefined : shortened.get(nearest) }
    })
}

const prefix = "AUTHORITY_"

const ofClients = new Set(["AUTHORITY_API_KEY", "AUTHORITY_URL"])

const decodeValues = Schema.decodeUnknownEither(Values, { errors: "all" })

// Maps each setting's property name to the text of its environment variable, or to its default. A
// blank variable counts as unset.
const textsOf = (environment: Environment) =>
  Object.fromEntries(
    Object.entries(all).flatMap(([key, { about }]) => {
      const given = environment[about.name]?.trim() ?? ""
      const text = given === "" ? about.default : given
      return text === undefined ? [] : [[key, text]]
    }),
  )

const names = new Map<PropertyKey, string>(
  Object.entries(all).map(([key, { about }]) => [key, about.name]),
)

const complaints = (error: ParseResult.ParseError): ReadonlyArray<string> =>
  ParseResult.ArrayFormatter.formatErrorSync(error).map(
    ({ message, path: [key = ""] }) => `${names.get(key)}: ${message}`,
  )

/**
 * Returns the name most similar to `word`; undefined if more than half of `word` would have to
 * change.
 */
const nearestName = (word: string, names: Iterable<string>): string | undefined => {
  const [nearest] = Array.from(names, (name) => ({
    name,
    distance: distanceOf(word.toLowerCase(), name.toLowerCase()),
  })).toSorted((a, b) => a.distance - b.distance)
  return nearest && nearest.distance <= word.length / 2 ? nearest.name : undefined
}

/** The Levenshtein distance: the number of characters to add, remove or replace. */
const distanceOf = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, character] of Array.from(from).entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      next.push(
        Math.min(
          (row[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1),
        ),
      )
    }
    row = next
  }
  return row[to.length] ?? 0
}
