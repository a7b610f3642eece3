/** Prints the statement of an account as a stream, in constant memory. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Accounts } from "../Account.ts"
import type { ApiKey } from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import type { StatementEntry } from "../ledger/LedgerEntry.ts"
import * as Parameter from "../contract/Parameter.ts"
import * as Csv from "../lists/csv.ts"
import { StoredText } from "../ShortText.ts"
import { printable } from "../text/printable.ts"
import * as Database from "./Database.ts"
import { isoTime } from "../time/isoTime.ts"
import { line } from "./Output.ts"
import * as Verb from "./Verb.ts"

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
    json: Verb.json,
  }),
  run: ({ account, format, json, since, until }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account)
      const labels = new Map((yield* keys.list(id)).map((key) => [key.id, key.label]))
      const lines = ledger
        .statement(id, { since, until })
        .pipe(Stream.map(toLine(labels)), writers[json ? "json" : format](name))
      yield* Stream.runForEach(lines, line)
    }).pipe(Effect.provide(Database.existing)),
})

interface Line {
  readonly at: string | null
  readonly kind: StatementEntry["kind"]
  /** Credits; negative for a charge or a correction, positive for a grant. */
  readonly amount: number
  readonly balanceAfter: number
  readonly urls: number | null
  readonly requestId: string | null
  readonly note: string | null
  /** The key of a charge; null when it is not known. */
  readonly key: Pick<ApiKey, "id" | "label"> | null
}

const toLine =
  (labels: ReadonlyMap<ApiKey["id"], string | null>) =>
  ({ amount, apiKeyId, at, balanceAfter, kind, note, requestId, urls }: StatementEntry): Line => ({
    at: isoTime(at),
    kind,
    amount: kind === "grant" ? amount : -amount,
    balanceAfter,
    urls,
    requestId,
    note,
    key: apiKeyId == null ? null : { id: apiKeyId, label: labels.get(apiKeyId) ?? null },
  })

type Writer = (account: string) => <E>(lines: Stream.Stream<Line, E>) => Stream.Stream<string, E>

const headed =
  (header: string) =>
  <E>(lines: Stream.Stream<string, E>) =>
    Stream.concat(Stream.make(header), lines)

const table: Writer = () => (lines) =>
  lines.pipe(
    Stream.map(({ amount, at, balanceAfter, key, kind, note, requestId, urls }) =>
      [
        at ?? "",
        kind.padEnd(10),
        String(amount).padStart(12),
        String(balanceAfter).padStart(14),
        String(urls ?? "").padStart(4),
        printable(requestId ?? note ?? ""),
        printable(key?.label ?? key?.id ?? ""),
      ]
        .join("  ")
        .trimEnd(),
    ),
    headed(
      `TIME                      KIND              AMOUNT         BALANCE  URLS  ${"REQUEST OR NOTE".padEnd(36)}  KEY`,
    ),
  )

const csv: Writer = () => (lines) =>
  lines.pipe(
    Stream.map(({ amount, at, balanceAfter, key, kind, note, requestId, urls }) =>
      Csv.csv([
        [
          at,
          kind,
          amount,
          balanceAfter,
          urls,
          requestId,
          note,
          key?.id ?? null,
          key?.label ?? null,
        ],
      ]),
    ),
    headed("time,kind,amount,balance,urls,request_id,note,key_id,key_label"),
  )

const document: Writer = (account) => (lines) =>
  lines.pipe(
    Stream.zipWithIndex,
    Stream.map(([line, i]) => (i === 0 ? "" : ",") + JSON.stringify(line)),
    headed(`{"account":${JSON.stringify(account)},"entries":[`),
    Stream.concat(Stream.make("]}")),
  )

const writers = { table, csv, json: document }
