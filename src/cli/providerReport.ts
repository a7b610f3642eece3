/** Shows what was bought of the vendors and what was sold, by UTC day. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Parameter from "../contract/Parameter.ts"
import * as Csv from "../list/csv.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import * as ProviderReport from "../ProviderReport.ts"
import * as Settings from "../Settings.ts"
import * as Database from "./Database.ts"
import { line, table } from "./Output.ts"
import * as Providers from "./Providers.ts"
import * as Verb from "./Verb.ts"

export const verb = Verb.make({
  examples: [
    "authority provider report --since 2026-11-01",
    "authority provider report --reconcile --json",
  ],
  declare: (command) =>
    command
      .option("--since <TIME>", "first UTC day to include (default: the first day)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .option("--reconcile", "first compare the purchases with the vendors' own counts")
      .addOption(Verb.formatOption()),
  options: Schema.Struct({
    since: Schema.optional(Parameter.Time),
    until: Schema.optional(Parameter.Time),
    reconcile: Schema.optionalWith(Schema.Boolean, { default: () => false }),
    format: Verb.format,
    json: Verb.json,
  }),
  run: ({ format, json, reconcile, since, until }) =>
    Effect.gen(function* () {
      const report = yield* ProviderReport.ProviderReport
      const readings = reconcile ? yield* Effect.flatMap(vendors, report.reconcile) : undefined
      const document = {
        ...(yield* report.report({ since: since?.getTime(), until: until?.getTime() })),
        ...(readings !== undefined && { readings }),
      }
      yield* line(writers[json ? "json" : format](document))
      const failed = readings?.filter(({ state }) => state === "failed") ?? []
      if (failed.length > 0) return yield* new NotRead({ failed })
    }).pipe(
      Effect.provide(reports),
      Effect.provide(Database.existing),
      Effect.provide(Settings.layer),
    ),
})

const reports = Layer.unwrapEffect(
  Effect.map(Settings.Settings, ({ providerTimeout }) =>
    Layer.provide(ProviderReport.layer, Layer.succeed(ProviderReport.CallTimeout, providerTimeout)),
  ),
)

/** The vendors of the settings. */
const vendors = Effect.flatMap(Settings.Settings, ({ providers }) =>
  Effect.forEach(
    providers.filter((name) => name !== "sandbox" && name !== "dataset"),
    (provider) =>
      MetricsProvider.pipe(
        Effect.provide(Providers.undecorated(provider)),
        Effect.map(({ status }) => ({ provider, status })),
      ),
  ),
)

class NotRead extends Data.TaggedError("NotRead")<{
  readonly failed: ReadonlyArray<ProviderReport.Reading>
}> {
  override get message() {
    const reasons = this.failed.map(({ reason }) => reason).join("; ")
    return `not every vendor has reported its count: ${reasons}; to see how to fix it, run 'authority provider status'`
  }
}

interface Document extends ProviderReport.Report {
  readonly readings?: ReadonlyArray<ProviderReport.Reading>
}

const numbers = (row: ProviderReport.Row) =>
  [
    row.calls,
    row.targets,
    row.rowsBought,
    row.cost,
    row.unknown,
    row.answeredFromCache,
    row.creditsCharged,
  ].map((cell) => cell ?? "")

const titles = "DAY,PROVIDER,CALLS,TARGETS,ROWS,COST,UNKNOWN,FROM CACHE,CREDITS".split(",")
const columns =
  "day,provider,calls,targets,rows_bought,cost,unknown,answered_from_cache,credits_charged"

const writers: Record<typeof Verb.format.Type, (document: Document) => string> = {
  table: ({ readings = [], reconciliations, rows }) =>
    [
      table(
        titles,
        rows.map((row) => [row.day, row.provider ?? "all providers", ...numbers(row)]),
      ),
      ...notable(reconciliations).map(textOf),
      ...readings.flatMap(({ provider, reason }) =>
        reason === null ? [] : [`${provider}: ${reason}`],
      ),
    ].join("\n"),
  csv: ({ rows }) =>
    Csv.csv([
      columns.split(","),
      ...rows.map((row) => [row.day, row.provider ?? "", ...numbers(row)]),
    ]),
  json: (document) => JSON.stringify(document),
}

/** The last comparison of each vendor, and those with a difference. */
const notable = (all: ReadonlyArray<ProviderReport.Reconciliation>) => {
  const last = new Map(all.map((one) => [one.provider, one]))
  return all.filter((one) => one.difference !== 0 || last.get(one.provider) === one)
}

const textOf = (one: ProviderReport.Reconciliation) =>
  `${one.provider}, ${one.since} to ${one.until}: the vendor counts ${one.reported} ${one.unit}, ` +
  `the purchases ${one.computed} and at most ${one.unknown} without an answer; ` +
  (one.difference === 0 ? "no difference" : `a difference of ${one.difference}`)
