/** Shows what an account has used, or all accounts: by UTC day, by API key or by account. */
import { Option } from "commander"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import { maxRows } from "../contract/Limits.ts"
import * as Parameter from "../contract/Parameter.ts"
import * as Csv from "../lists/csv.ts"
import { StoredText } from "../ShortText.ts"
import * as UsageReport from "../UsageReport.ts"
import * as Database from "./Database.ts"
import { line, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

const groups = Schema.Literal("day", "key", "account")

export const verb = Verb.make({
  examples: [
    "authority usage --account acme --since 2026-11-01",
    "authority usage --account acme --by key --format csv",
    "authority usage --by account --since 2026-11-01",
  ],
  declare: (command) =>
    command
      .option(Verb.account[0], `${Verb.account[1]} (default: all accounts)`)
      .option("--since <TIME>", "first UTC day to include (default: the first day with usage)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .addOption(
        new Option("--by <GROUP>", "what a row sums up").choices(groups.literals).default("day"),
      )
      .addOption(Verb.formatOption()),
  options: Schema.Struct({
    account: Schema.optional(StoredText),
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
      const found = account === undefined ? undefined : yield* accounts.find(account)
      const period = { since, until }
      // One account has few rows. Of all accounts, the newest days, or those with most credits.
      const limit = found === undefined ? maxRows : undefined
      const rows = yield* report.rows({ ...period, account: found?.id, by, limit })
      yield* line(writers[json ? "json" : format](found?.name, by, rows))
    }).pipe(Effect.provide(UsageReport.layer), Effect.provide(Database.existing)),
})

type Group = typeof groups.Type
/** Of all accounts, `account` is undefined, and rows that are not by day name their account. */
type Writer = (
  account: string | undefined,
  by: Group,
  rows: ReadonlyArray<UsageReport.Row>,
) => string

const counts = ({ bought, checks, credits, failed, known }: UsageReport.Row) => [
  checks,
  credits,
  known,
  bought,
  failed.INVALID_URL,
  failed.PROVIDER_ERROR,
  failed.SERVER_ERROR,
]

const nameOf = ({ account, day, key }: UsageReport.Row) => [
  ...(account === undefined ? [] : [account]),
  ...(day === undefined ? [] : [day]),
  ...(key === undefined ? [] : [key?.id ?? "", key?.label ?? ""]),
]

const titleOf = (account: string | undefined, by: Group) => [
  ...(account === undefined && by !== "day" ? ["account"] : []),
  ...{ day: ["day"], key: ["key", "label"], account: [] }[by],
]

const titles = ["CHECKS", "CREDITS", "KNOWN", "BOUGHT", "INVALID", "PROVIDER", "SERVER"]
const columns = "checks,credits,known,bought,invalid_url,provider_error,server_error".split(",")

const writers: Record<typeof Verb.format.Type, Writer> = {
  table: (account, by, rows) =>
    table(
      [...titleOf(account, by).map((title) => title.toUpperCase()), ...titles],
      rows.map((row) => [...nameOf(row), ...counts(row)]),
    ),
  csv: (account, by, rows) =>
    Csv.csv([
      [...titleOf(account, by), ...columns],
      ...rows.map((row) => [...nameOf(row), ...counts(row)]),
    ]),
  json: (account, _, rows) => JSON.stringify({ account, rows }),
}
