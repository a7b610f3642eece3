/** Shows what an account has used, by UTC day or by API key. */
import { Option } from "commander"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import * as Parameter from "../contract/Parameter.ts"
import * as Csv from "../list/csv.ts"
import { StoredText } from "../ShortText.ts"
import * as UsageReport from "../UsageReport.ts"
import * as Database from "./Database.ts"
import { line, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

const groups = Schema.Literal("day", "key")

export const verb = Verb.make({
  examples: [
    "authority usage --account acme --since 2026-11-01",
    "authority usage --account acme --by key --format csv",
  ],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
      .option("--since <TIME>", "first UTC day to include (default: the first day with usage)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .addOption(
        new Option("--by <GROUP>", "what a row sums up").choices(groups.literals).default("day"),
      )
      .addOption(Verb.formatOption()),
  options: Schema.Struct({
    account: StoredText,
    since: Schema.optional(Parameter.Time),
    until: Schema.optional(Parameter.Time),
    by: groups,
    format: Verb.format,
    json: Verb.json,
  }),
  run: ({ account, by, format, json, since, until }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const report = yield* UsageReport.UsageReport
      const { id, name } = yield* accounts.find(account)
      const period = { since: since?.getTime(), until: until?.getTime() }
      const rows = yield* report.rows({ ...period, account: id, by })
      yield* line(writers[json ? "json" : format](name, by, rows))
    }).pipe(Effect.provide(UsageReport.layer), Effect.provide(Database.existing)),
})

type Group = typeof groups.Type
type Writer = (account: string, by: Group, rows: ReadonlyArray<UsageReport.Row>) => string

const counts = ({ bought, checks, credits, failed, known }: UsageReport.Row) => [
  checks,
  credits,
  known,
  bought,
  failed.INVALID_URL,
  failed.PROVIDER_ERROR,
  failed.SERVER_ERROR,
]

const nameOf = ({ day, key }: UsageReport.Row) =>
  day === undefined ? [key?.id ?? "", key?.label ?? ""] : [day]

const titles = ["CHECKS", "CREDITS", "KNOWN", "BOUGHT", "INVALID", "PROVIDER", "SERVER"]
const columns = "checks,credits,known,bought,invalid_url,provider_error,server_error".split(",")

const writers: Record<typeof Verb.format.Type, Writer> = {
  table: (_, by, rows) =>
    table(
      (by === "day" ? ["DAY"] : ["KEY", "LABEL"]).concat(titles),
      rows.map((row) => [...nameOf(row), ...counts(row)]),
    ),
  csv: (_, by, rows) =>
    Csv.csv([
      (by === "day" ? ["day"] : ["key", "label"]).concat(columns),
      ...rows.map((row) => [...nameOf(row), ...counts(row)]),
    ]),
  json: (account, _, rows) => JSON.stringify({ account, rows }),
}
