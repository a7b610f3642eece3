/**
 * Checks the settings, database, ledger, API keys and providers of the service. Prints one line for
 * each result, and says how to fix each failure.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { counted } from "../../contract/counted.ts"
import { Health } from "../../database/Health.ts"
import * as Secrets from "../../providers/vendors/Secrets.ts"
import * as Settings from "../../Settings.ts"
import * as ConnectionString from "../../database/ConnectionString.ts"
import { failWithStoreFailure } from "../../database/StoreFailure.ts"
import { demoRisk } from "./demo.ts"
import * as Logging from "../Logging.ts"
import * as ProviderStatus from "../../server/ProviderStatus.ts"
import { adminToken } from "../../server/adminToken.ts"
import * as Stores from "../../server/Stores.ts"
import * as Command from "../Command.ts"

interface Finding {
  readonly state: "ok" | "warning" | "failure"
  readonly subject: string
  readonly detail: string
}

const finding =
  (state: Finding["state"]) =>
  (subject: string, detail: string): Finding => ({ state, subject, detail })
const ok = finding("ok")
const warning = finding("warning")
const failure = finding("failure")

class Unwell extends Data.TaggedError("Unwell")<{ readonly parts: ReadonlyArray<string> }> {
  override get message() {
    return `these checks failed: ${this.parts.join(", ")}; the output says how to fix them`
  }
}

export const command = Command.act({
  examples: ["authority doctor"],
  options: Schema.Struct({}),
  act: () =>
    adminToken.pipe(
      Effect.zipRight(settings),
      Effect.zipWith(stores, (a, b) => [...a, ...b]),
      Effect.zipWith(providers, (a, b) => [...a, ...b]),
      Effect.provide(Settings.layer),
      // If a setting is invalid, report only that: every other check needs valid settings.
      Effect.catchTag("InvalidSetting", ({ message }) =>
        Effect.succeed([failure("settings", message)]),
      ),
      Effect.map((findings) => ({ findings })),
    ),
  text: ({ findings }) =>
    findings
      .map(({ detail, state, subject }) => `${state.padEnd(7)}  ${subject}: ${detail}`)
      .join("\n"),
  failure: ({ findings }) => {
    const failures = findings.filter(({ state }) => state === "failure")
    const parts = Array.from(new Set(failures.map(({ subject }) => subject)))
    return parts.length === 0 ? undefined : new Unwell({ parts })
  },
})

// Lists every setting with its value and source (default or environment), and hides secrets. Warns
// of environment variables that begin with AUTHORITY_ but are not settings.
const settings = Effect.sync(() => [
  ...Object.values(Settings.all).map(({ about }) => {
    const given = process.env[about.name]?.trim() ?? ""
    const value = given === "" ? about.default : given
    return ok(about.name, `${shown(about, value)} (${given === "" ? "default" : "environment"})`)
  }),
  ...Settings.unknownNames(process.env).map(({ name, nearest }) =>
    warning(
      name,
      `unknown, and has no effect${nearest === undefined ? "; correct or remove it" : `; did you mean ${nearest}?`}`,
    ),
  ),
])

const shown = ({ isSecret, name }: Settings.About, value: string | undefined): string => {
  if (value === undefined) return "not set"
  if (isSecret) return "hidden"
  return name === Settings.all.databaseUrl.about.name && !value.startsWith("sqlite:")
    ? ConnectionString.shown(value)
    : Secrets.hideIn(value)
}

// Turns an error of `findings`, or a StoreFailure defect, into a finding with the state `failure`.
const orFailure = <E extends { readonly message: string }, R>(
  subject: string,
  findings: Effect.Effect<ReadonlyArray<Finding>, E, R>,
) =>
  findings.pipe(
    failWithStoreFailure,
    Effect.catchAll(({ message }) => Effect.succeed([failure(subject, message)])),
  )

const stores = Effect.gen(function* () {
  const health = yield* Health
  const { description } = yield* health.stores
  return [
    ok("database", description),
    ...(yield* server),
    ...(yield* orFailure("writing", Effect.as(health.write, [written]))),
    ...(yield* orFailure("ledger", ledger)),
    ...(yield* orFailure("keys", keys)),
    ...(yield* orFailure("demo", demo)),
  ]
}).pipe(
  Effect.provide(Stores.forCommands),
  Effect.provide(Logging.layer({ stderr: true })),
  (findings) => orFailure("database", findings),
)

const written = ok("writing", "a row was written and removed")

const ledger = Effect.gen(function* () {
  const { verify } = yield* CreditLedger
  const { accounts, entries, problems } = yield* verify
  return problems.length === 0
    ? [
        ok(
          "ledger",
          `${counted(accounts, "account")} and ${counted(entries, "entry", "entries")} verified`,
        ),
      ]
    : problems.map((problem) =>
        failure("ledger", `${problem}; grant no more credits, and restore a backup`),
      )
})

const keys = Effect.gen(function* () {
  const unreadable = yield* Effect.flatMap(ApiKeys, ({ unreadable }) => unreadable)
  return unreadable.map(({ id, problem }) =>
    failure(
      `key ${id}`,
      `the record of this key cannot be read (${problem}); revoke the key and create another key`,
    ),
  )
})

const demo = Effect.map(demoRisk, (risk) =>
  Option.toArray(risk).map(({ revoke, why }) =>
    warning("demo", `the key of the demo account still works, and ${why}; revoke it: ${revoke}`),
  ),
)

const server = Effect.gen(function* () {
  const { databaseUrl } = yield* Settings.Settings
  if (Redacted.value(databaseUrl).startsWith("sqlite:")) return []
  const { examine, isTooOld } = yield* Effect.promise(() => import("../../database/Postgres.ts"))
  const { host, port, ssl } = yield* ConnectionString.parse(Redacted.value(databaseUrl))
  const server = yield* examine
  const place = `PostgreSQL ${server.version} at ${host}:${port}`
  return [
    server.isStandby
      ? failure(
          "server",
          `${place} is a standby, which is read-only; set AUTHORITY_DATABASE_URL to the primary`,
        )
      : ok("server", `${place}, a primary`),
    ok("TLS", tlsOf(ssl)),
    ...(isTooOld(server.version)
      ? [
          warning(
            "version",
            `PostgreSQL ${server.version} is older than 14, the oldest supported version; update the server`,
          ),
        ]
      : []),
    ...(server.fsync === "off"
      ? [
          warning(
            "fsync",
            "off, so a crash of the server can lose or damage the ledger; turn fsync on",
          ),
        ]
      : []),
  ]
}).pipe(Effect.catchAll(({ message }) => Effect.succeed([warning("server", message)])))

const tlsOf = (ssl: ConnectionString.ConnectionString["ssl"]) => {
  if (ssl === false) return "not in use"
  return `in use, and the certificate of the server or pooler is ${ssl.rejectUnauthorized === false ? "not " : ""}verified`
}

const providers = ProviderStatus.examineAll({ isLive: false }).pipe(
  Effect.map((all) =>
    all.map(({ detail, provider, state }) => finding(state)(`provider ${provider}`, detail)),
  ),
  Effect.provide(Logging.layer({ stderr: true })),
)
