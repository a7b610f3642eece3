/** Lists the audit log. */
import * as Schema from "effect/Schema"
import type { Detail } from "../../accounts/AuditLog.ts"
import * as AuditLog from "../../accounts/AuditLog.ts"
import { table } from "../Output.ts"
import * as Command from "../Command.ts"

export const command = Command.onDatabase({
  examples: ["authority audit --limit 20", "authority audit --before 118 --json"],
  declare: (command) =>
    command
      .option("--limit <N>", "maximum lines", "100")
      .option("--before <SEQ>", "only lines with a lower number (default: from the newest)"),
  options: Schema.Struct({
    limit: Command.wholeNumber(1, ""),
    before: Schema.optional(Command.wholeNumber(1, "")),
  }),
  act: AuditLog.entries,
  text: ({ entries }) =>
    table(
      [
        ["NO", null, ({ sequence }) => sequence],
        ["TIME", null, ({ at }) => at],
        ["ACTOR", null, ({ actor }) => actor],
        ["ACTION", null, ({ action }) => action],
        ["SUBJECT", null, ({ subject }) => subject],
        ["DETAIL", null, ({ detail }) => textOf(detail)],
      ],
      entries,
    ),
})

const textOf = (detail: Detail) =>
  Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")
