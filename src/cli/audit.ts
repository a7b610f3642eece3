/** Lists the audit log. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AuditLog } from "../AuditLog.ts"
import type { AuditLine, Detail } from "../AuditLine.ts"
import * as Database from "./Database.ts"
import { isoTime } from "../time/isoTime.ts"
import { print, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

export const verb = Verb.make({
  examples: ["authority audit --limit 20", "authority audit --before 118 --json"],
  declare: (command) =>
    command
      .option("--limit <N>", "maximum lines", "100")
      .option("--before <SEQ>", "only lines with a lower number (default: from the newest)"),
  options: Schema.Struct({
    limit: Verb.wholeNumber(1, ""),
    before: Schema.optional(Verb.wholeNumber(1, "")),
    json: Verb.json,
  }),
  run: ({ before, json, limit }) =>
    Effect.gen(function* () {
      const lines = yield* (yield* AuditLog).list({ limit, before })
      yield* print(
        json,
        { entries: lines.map((line) => ({ ...line, at: isoTime(line.at) })) },
        tableOf(lines),
      )
    }).pipe(Effect.provide(Database.existing)),
})

const tableOf = (lines: ReadonlyArray<AuditLine>) =>
  table(
    ["NO", "TIME", "ACTOR", "ACTION", "SUBJECT", "DETAIL"],
    lines.map(({ action, actor, at, detail, sequence, subject }) => [
      sequence,
      isoTime(at),
      actor,
      action,
      subject,
      textOf(detail),
    ]),
  )

const textOf = (detail: Detail) =>
  Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")
