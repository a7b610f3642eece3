/** Asks the providers whether they can serve, and reports what calls to them cost. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CostReport from "../../providers/costs/CostReport.ts"
import { Vendor } from "../../providers/Vendor.ts"
import * as Providers from "../../server/Providers.ts"
import * as ProviderStatus from "../../server/ProviderStatus.ts"
import * as Settings from "../../Settings.ts"
import * as Database from "../Database.ts"
import { type Column, csv, table } from "../Output.ts"
import * as Command from "../Command.ts"

const status = Command.act({
  examples: ["authority provider status", "authority provider status --live --json"],
  declare: (command) => command.option("--live", "also buy one figure of each vendor (costs rows)"),
  options: Schema.Struct({ live: Command.flag }),
  act: ({ live }) =>
    ProviderStatus.examineAll({ isLive: live }).pipe(
      Effect.map((providers) => ({ providers })),
      Effect.provide(Database.settings),
    ),
  text: ({ providers }) =>
    providers
      .map(({ detail, provider, state }) => `${state.padEnd(7)}  ${provider}: ${detail}`)
      .join("\n"),
  failure: ({ providers }) => {
    const unable = providers.filter(({ state }) => state === "failure")
    return unable.length === 0 ? undefined : new CannotServe({ unable })
  },
})

class CannotServe extends Data.TaggedError("CannotServe")<{
  readonly unable: ReadonlyArray<ProviderStatus.Finding>
}> {
  override get message() {
    return `these providers cannot serve: ${this.unable.map(({ provider }) => provider).join(", ")}; the output says how to fix them`
  }
}

const report = Command.onDatabase({
  examples: [
    "authority provider report --since 2026-11-01",
    "authority provider report --reconcile --json",
  ],
  declare: (command) =>
    command
      .option("--since <TIME>", "first UTC day to include (default: the first day)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .option("--reconcile", "also ask the vendors what they count, and show our month beside it")
      .addOption(Command.formatOption()),
  options: Schema.Struct({ ...Command.period, reconcile: Command.flag, format: Command.format }),
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

/** Rounds the difference, because binary fractions would add digits such as 0.30000000000000004. */
const used = ({ allotted, left }: { readonly allotted: number; readonly left: number }) =>
  Number((allotted - left).toFixed(6))

export const command = Command.group({
  status: ["Ask each provider of the settings; exit with 1 when one cannot serve", status],
  report: ["Show what was bought of each vendor by UTC day, and what was sold", report],
})
