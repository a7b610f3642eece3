/** Shows what calls to the vendors cost and what was sold, by UTC day. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Parameter from "../../contract/Parameter.ts"
import * as CostReport from "../../providers/costs/CostReport.ts"
import { Vendor } from "../../providers/Vendor.ts"
import * as Settings from "../../Settings.ts"
import { type Column, csv, table } from "../Output.ts"
import * as Providers from "../../server/Providers.ts"
import * as Verb from "../Verb.ts"

export const verb = Verb.onDatabase({
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
  }),
  act: ({ reconcile, since, until }) =>
    Effect.gen(function* () {
      return yield* CostReport.report({ since, until }, reconcile ? yield* vendors : undefined)
    }).pipe(Effect.provide(Settings.layer)),
  text: ({ counts = [], rows }, { format }) =>
    format === "csv"
      ? csv(columns, rows)
      : [table(columns, rows), ...counts.map(textOf)].join("\n"),
  failure: ({ counts = [] }) => {
    const errors = counts.flatMap(({ error }) => error ?? [])
    return errors.length === 0 ? undefined : new NotCounted({ errors })
  },
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

type Row = CostReport.Row

const ofVendor = (row: Row) => (row.provider === null ? undefined : row)
const ofSales = (row: Row) => (row.provider === null ? row : undefined)

const columns: ReadonlyArray<Column<Row>> = [
  ["DAY", "day", ({ day }) => day],
  ["PROVIDER", null, ({ provider }) => provider ?? "all providers"],
  [null, "provider", ({ provider }) => provider],
  ["CALLS", "calls", (row) => ofVendor(row)?.calls ?? null],
  ["ROWS", "rows", (row) => ofVendor(row)?.rows ?? null],
  ["COST", "cost", (row) => ofVendor(row)?.cost ?? null],
  ["FAILED", "failed", (row) => ofVendor(row)?.failed ?? null],
  ["UNANSWERED", "unanswered", (row) => ofVendor(row)?.unanswered ?? null],
  ["FROM CACHE", "answered_from_cache", (row) => ofSales(row)?.answeredFromCache ?? null],
  ["CREDITS", "credits_charged", (row) => ofSales(row)?.creditsCharged ?? null],
]

const textOf = ({ error, month, provider, quota }: CostReport.Count) =>
  `${provider}, this month: ${month.rows} rows${month.cost === null ? "" : ` for ${month.cost}`} ` +
  `in ${month.calls} calls, ${month.unanswered} of them without an answer; ` +
  (quota === null
    ? (error ?? "the vendor reports no count")
    : `the vendor counts ${used(quota)} of ${quota.allotted} ${quota.unit} as used` +
      (quota.resetsAt === null ? "" : ` in the period until ${quota.resetsAt}`))

/** Without the noise of binary fractions. */
const used = ({ allotted, left }: { readonly allotted: number; readonly left: number }) =>
  Number((allotted - left).toFixed(6))
