/** Shows what one account or all accounts have used: by UTC day, API key or account. */
import { Option } from "commander"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AccountActs from "../../accounts/AccountActs.ts"
import { maxRows } from "../../contract/Limits.ts"
import { StoredText } from "../../contract/fields.ts"
import * as UsageReport from "../../ledger/usage/UsageReport.ts"
import { type Column, csv, table } from "../Output.ts"
import * as Command from "../Command.ts"

const groups = Schema.Literal("day", "key", "account")

export const command = Command.onDatabase({
  examples: [
    "authority usage --account acme --since 2026-11-01",
    "authority usage --account acme --by key --format csv",
    "authority usage --by account --since 2026-11-01",
  ],
  declare: (command) =>
    command
      .option(Command.account[0], `${Command.account[1]} (default: all accounts)`)
      .option("--since <TIME>", "first UTC day to include (default: the first day with usage)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .addOption(
        new Option("--by <GROUP>", "what a row sums up").choices(groups.literals).default("day"),
      )
      .addOption(Command.formatOption()),
  options: Schema.Struct({
    account: Schema.optional(StoredText),
    ...Command.period,
    by: groups,
    format: Command.format,
  }),
  act: ({ account, by, since, until }) =>
    // One account has few rows. For all accounts, limit them to the newest days or the highest use.
    AccountActs.usage({
      account,
      by,
      since,
      until,
      limit: account === undefined ? maxRows : undefined,
    }).pipe(Effect.provide(UsageReport.layer)),
  text: ({ account, rows }, { by, format }) =>
    (format === "csv" ? csv : table)(
      [
        // When all accounts are listed, each row names its account, unless it is a day.
        ...(account === undefined && by !== "day" ? [accountColumn] : []),
        ...columns[by],
        ...counts,
      ],
      rows,
    ),
})

type Columns = ReadonlyArray<Column<UsageReport.Row>>

const accountColumn: Columns[number] = ["ACCOUNT", "account", ({ account }) => account ?? null]

const columns: Readonly<Record<typeof groups.Type, Columns>> = {
  day: [["DAY", "day", ({ day }) => day ?? null]],
  key: [
    ["KEY", "key", ({ key }) => key?.id ?? null],
    ["LABEL", "label", ({ key }) => key?.label ?? null],
  ],
  account: [],
}

const counts: Columns = [
  ["CHECKS", "checks", ({ checks }) => checks],
  ["CREDITS", "credits", ({ credits }) => credits],
  ["KNOWN", "known", ({ known }) => known],
  ["BOUGHT", "bought", ({ bought }) => bought],
  ["INVALID", "invalid_url", ({ failed }) => failed.INVALID_URL],
  ["PROVIDER", "provider_error", ({ failed }) => failed.PROVIDER_ERROR],
  ["SERVER", "server_error", ({ failed }) => failed.SERVER_ERROR],
]
