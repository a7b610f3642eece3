/** Examines what the service needs, a line each, and says what to mend. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { ApiKeys } from "../ApiKeys.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { Health } from "../Health.ts"
import { MetricsProvider, type ProviderError } from "../MetricsProvider.ts"
import * as Secrets from "../Secrets.ts"
import * as Settings from "../Settings.ts"
import * as ConnectionString from "../sql/ConnectionString.ts"
import { StoreFailure } from "../StoreFailure.ts"
import { isExposed } from "./demo.ts"
import * as Logging from "./Logging.ts"
import { print, time } from "./Output.ts"
import * as Provider from "./Provider.ts"
import * as Stores from "./Stores.ts"

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

class Unwell extends Data.TaggedError("Unwell")<{ readonly failures: number }> {
  override get message() {
    return `${this.failures} of the examinations failed; their lines say what to mend`
  }
}

export const doctor = ({ json }: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const findings = yield* settings.pipe(
      Effect.zipWith(stores, (a, b) => [...a, ...b]),
      Effect.zipWith(providers, (a, b) => [...a, ...b]),
      Effect.provide(Settings.layer),
      // Nothing else can be examined without settings.
      Effect.catchTag("InvalidSetting", ({ message }) =>
        Effect.succeed([failure("settings", message)]),
      ),
    )
    yield* print(
      json,
      { findings },
      findings
        .map(({ detail, state, subject }) => `${state.padEnd(7)}  ${subject}: ${detail}`)
        .join("\n"),
    )
    const failures = findings.filter(({ state }) => state === "failure").length
    if (failures > 0) return yield* new Unwell({ failures })
  })

/** Every setting with its value and where that comes from; secrets are hidden. */
const settings = Effect.sync(() =>
  Object.values(Settings.all).map(({ about }) => {
    const given = process.env[about.name]?.trim() ?? ""
    const value = given === "" ? about.default : given
    return ok(about.name, `${shown(about, value)} (${given === "" ? "default" : "environment"})`)
  }),
)

const shown = ({ isSecret, name }: Settings.About, value: string | undefined): string => {
  if (value === undefined) return "not set"
  if (isSecret) return "hidden"
  return name === Settings.all.databaseUrl.about.name && !value.startsWith("sqlite:")
    ? ConnectionString.shown(value)
    : Secrets.hideIn(value)
}

const stores = Effect.gen(function* () {
  const health = yield* Health
  const ledger = yield* CreditLedger
  const keys = yield* ApiKeys
  const { host, providers } = yield* Settings.Settings
  const { description } = yield* health.stores
  const writing = yield* Effect.either(health.write)
  const { accounts, entries, problems } = yield* ledger.verify
  return [
    ok("database", description),
    Either.match(writing, {
      onLeft: ({ message }) => failure("writing", message),
      onRight: () => ok("writing", "a row was written and removed"),
    }),
    ...(problems.length === 0
      ? [ok("ledger", `${accounts} accounts and ${entries} entries add up`)]
      : problems.map((problem) => failure("ledger", problem))),
    ...(yield* keys.unreadable).map(({ id, problem }) =>
      failure(`key ${id}`, `its record cannot be read: ${problem}: revoke it and create another`),
    ),
    ...(providers.includes("sandbox") && (yield* isExposed(host))
      ? [warning("demo", `the demo account can be used from beyond this machine: ${host}`)]
      : []),
  ]
}).pipe(
  Effect.provide(Stores.layer),
  Effect.provide(Logging.layer({ stderr: true })),
  Effect.catchAllDefect((defect) => (defect instanceof StoreFailure ? defect : Effect.die(defect))),
  Effect.catchAll(({ message }) => Effect.succeed([failure("database", message)])),
)

const providers = Effect.flatMap(Settings.Settings, ({ providers }) =>
  Effect.forEach(providers, (name) =>
    Effect.provide(examineProvider, Provider.named(name)).pipe(
      Effect.provide(Stores.databaseOrEmpty),
      Effect.provide(Logging.layer({ stderr: true })),
      Effect.catchTag("ProviderError", ({ message, reason }) =>
        Effect.succeed(failure(`provider ${name}`, `${message}: ${mends[reason]}`)),
      ),
      Effect.catchAll(({ message }) => Effect.succeed(failure(`provider ${name}`, message))),
      Effect.catchAllDefect((defect) =>
        defect instanceof StoreFailure
          ? Effect.succeed(failure(`provider ${name}`, defect.message))
          : Effect.die(defect),
      ),
    ),
  ),
)

const mends: Record<ProviderError["reason"], string> = {
  Unreachable: "check its address in the settings, and the network",
  Timeout: "check its address in the settings, and the network",
  Throttled: "wait, or lower AUTHORITY_PROVIDER_CONCURRENCY",
  Unavailable: "it says that it is broken; wait, or put another provider behind it",
  Refused: "check the token or password in the settings, and the subscription",
  Malformed: "check its address in the settings",
}

const examineProvider = Effect.gen(function* () {
  const { name, quota } = yield* MetricsProvider
  const subject = `provider ${name}`
  if (name === "sandbox") return warning(subject, "its figures are synthetic")
  if (quota === undefined) return ok(subject, "configured; it has no quota to ask for")
  const { allotted, resetsAt, unit, used } = yield* quota
  const left = Math.max(0, allotted - used)
  const until = resetsAt === null ? "" : ` until ${time(resetsAt)}`
  const detail = `reachable; ${left} of ${allotted} ${unit} are left${until}`
  return left === 0 ? failure(subject, `${detail}: buy more, or wait`) : ok(subject, detail)
})
