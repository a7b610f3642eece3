/** Prints the statement of an account as a stream, in constant memory. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AccountActs from "../../accounts/AccountActs.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import * as Parameter from "../../contract/Parameter.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { StoredText } from "../../contract/fields.ts"
import * as Database from "../Database.ts"
import { type Column, csv, line, row, table } from "../Output.ts"
import * as Verb from "../Verb.ts"

export const statement = Verb.make({
  examples: ["authority credits statement --account acme --since 2026-11-01 --format csv"],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
      .option("--since <TIME>", "first time to include (default: the first entry)")
      .option("--until <TIME>", "end of the period, exclusive (default: now)")
      .addOption(Verb.formatOption()),
  options: Schema.Struct({
    account: StoredText,
    since: Schema.optional(Parameter.Time),
    until: Schema.optional(Parameter.Time),
    format: Verb.format,
  }),
  run: ({ account, format, since, until }, json) =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const keys = yield* ApiKeys
      const { id, name } = yield* AccountActs.find(account)
      const labels = new Map((yield* keys.list(id)).map((key) => [String(key.id), key.label]))
      const entries = ledger.statement(id, { since, until }).pipe(
        Stream.map((stored) => {
          const { key, sequence: _, ...entry } = AccountActs.entryOf(stored)
          const note = stored.note
          return { ...entry, note, key: key && { id: key, label: labels.get(key) ?? null } }
        }),
      )
      yield* Stream.runForEach(writers[json ? "json" : format](entries, name), line)
    }).pipe(Effect.provide(Database.existing)),
})

type Line = Omit<ReturnType<typeof AccountActs.entryOf>, "key" | "sequence"> & {
  readonly note: string | null
  /** The key of a charge; null when it is not known. */
  readonly key: { readonly id: string; readonly label: string | null } | null
}

const columns: ReadonlyArray<Column<Line>> = [
  ["TIME".padEnd(24), "time", ({ at }) => at],
  ["KIND".padEnd(10), "kind", ({ kind }) => kind],
  ["AMOUNT".padStart(12), "amount", ({ amount }) => amount],
  ["BALANCE".padStart(14), "balance", ({ balanceAfter }) => balanceAfter],
  ["URLS", "urls", ({ urls }) => urls],
  [null, "request_id", ({ requestId }) => requestId],
  ["REQUEST OR NOTE".padEnd(36), null, ({ note, requestId }) => requestId ?? note],
  [null, "note", ({ note }) => note],
  [null, "key_id", ({ key }) => key && key.id],
  [null, "key_label", ({ key }) => key && key.label],
  ["KEY", null, ({ key }) => key && (key.label ?? key.id)],
]

type Lines<E> = Stream.Stream<Line, E>

const writers = {
  table: <E>(lines: Lines<E>) =>
    Stream.concat(
      Stream.make(table(columns, [])),
      Stream.map(lines, (line) => row(columns, line)),
    ),
  csv: <E>(lines: Lines<E>) =>
    Stream.concat(
      Stream.make(csv(columns, [])),
      Stream.map(lines, (line) => csv(columns, [line], false)),
    ),
  json: <E>(lines: Lines<E>, account: string) =>
    lines.pipe(
      Stream.zipWithIndex,
      Stream.map(([line, i]) => (i === 0 ? "" : ",") + JSON.stringify(line)),
      (entries) =>
        Stream.concat(
          Stream.make(`{"account":${JSON.stringify(account)},"entries":[`),
          Stream.concat(entries, Stream.make("]}")),
        ),
    ),
}
