/** Shows what calls to the vendors cost and what was sold, by UTC day. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Parameter from "../contract/Parameter.ts"
import * as Csv from "../lists/csv.ts"
import * as ProviderReport from "../providers/ProviderReport.ts"
import { Vendor } from "../providers/Vendor.ts"
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
      .option("--reconcile", "also ask the vendors what they count, and show our month beside it")
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
      const { report } = yield* ProviderReport.ProviderReport
      const range = { since, until }
      const found = yield* report(range, reconcile ? yield* vendors : undefined)
      yield* line(writers[json ? "json" : format](found))
      const errors = found.counts?.flatMap(({ error }) => error ?? []) ?? []
      if (errors.length > 0) return yield* new NotCounted({ errors })
    }).pipe(
      Effect.provide(ProviderReport.layer),
      Effect.provide(Database.existing),
      Effect.provide(Settings.layer),
    ),
})

/** The vendors of the settings. */
const vendors = Effect.flatMap(Settings.Settings, ({ providers }) =>
  Effect.forEach(
    providers.filter((name) => name !== "sandbox" && name !== "dataset"),
    (provider) =>
      Vendor.pipe(
        Effect.provide(Providers.undecorated(provider)),
        Effect.map(({ status }) => ({ provider, status })),
      ),
  ),
)

class NotCounted extends Data.TaggedError("NotCounted")<{
  readonly errors: ReadonlyArray<string>
}> {
  override get message() {
    return `not every vendor has reported its count: ${this.errors.join("; ")}; to see how to fix it, run 'authority provider status'`
  }
}

const cellsOf = (row: ProviderReport.Row) =>
  row.provider === null
    ? ["", "", "", "", "", row.answeredFromCache, row.creditsCharged]
    : [row.calls, row.rows, row.cost ?? "", row.failed, row.unanswered, "", ""]

const titles = "DAY,PROVIDER,CALLS,ROWS,COST,FAILED,UNANSWERED,FROM CACHE,CREDITS".split(",")
const columns =
  "day,provider,calls,rows,cost,failed,unanswered,answered_from_cache,credits_charged".split(",")

const writers: Record<typeof Verb.format.Type, (report: ProviderReport.Report) => string> = {
  table: ({ counts = [], rows }) =>
    [
      table(
        titles,
        rows.map((row) => [row.day, row.provider ?? "all providers", ...cellsOf(row)]),
      ),
      ...counts.map(textOf),
    ].join("\n"),
  csv: ({ rows }) =>
    Csv.csv([columns, ...rows.map((row) => [row.day, row.provider ?? "", ...cellsOf(row)])]),
  json: (report) => JSON.stringify(report),
}

const textOf = ({ error, month, provider, quota }: ProviderReport.Count) =>
  `${provider}, this month: ${month.rows} rows${month.cost === null ? "" : ` for ${month.cost}`} ` +
  `in ${month.calls} calls, ${month.unanswered} of them without an answer; ` +
  (quota === null
    ? (error ?? "the vendor reports no count")
    : `the vendor counts ${used(quota)} of ${quota.allotted} ${quota.unit} as used` +
      (quota.resetsAt === null ? "" : ` in the period until ${quota.resetsAt}`))

/** Without the noise of binary fractions. */
const used = ({ allotted, left }: { readonly allotted: number; readonly left: number }) =>
  Number((allotted - left).toFixed(6))
