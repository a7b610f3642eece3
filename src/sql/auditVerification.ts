/** Verifies the chain of the audit log, and compares accounts, keys and grants with its lines. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { LogVerification } from "../AuditLog.ts"
import { breakOf, maxProblems } from "../ledger/Audit.ts"
import * as AuditLine from "../ledger/AuditLine.ts"
import {
  lineColumns,
  rowColumns,
  stateOf,
  Unlogged,
  unlogged,
  wronglyGranted,
} from "./auditLines.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import { pageSize, rowsAfter } from "./paging.ts"

const unread = { key: Schema.String, value: Schema.Unknown }
const UnreadLine = Schema.Struct({ sequence: Schema.Int }, unread)
const decodeLine = Schema.decodeUnknownEither(Schema.encodedSchema(AuditLine.StoredLine))
const decodeUnlogged = Schema.decodeUnknownOption(Schema.parseJson(Unlogged))

/** The chain up to a line. */
interface Sums extends AuditLine.LogHead {
  readonly broken: string | undefined
  /** What there was before the log began, from its first line. */
  readonly begin: Option.Option<Unlogged>
}

const start: Sums = { ...AuditLine.emptyLog, broken: undefined, begin: Option.none() }

const next = (sums: Sums, row: typeof UnreadLine.Type): Sums => {
  const entries = sums.entries + 1
  // After the first bad line, the lines cannot be checked.
  if (sums.broken !== undefined) return { ...sums, entries }
  return Either.match(decodeLine(row), {
    onLeft: () => ({ ...sums, entries, broken: `line ${row.sequence} cannot be read` }),
    onRight: (line) => ({
      entries,
      head: line.hash,
      broken: breakOf("line", entries, line, AuditLine.chainHash(sums.head, line)),
      begin: entries === 1 ? decodeUnlogged(line.detail) : sums.begin,
    }),
  })
}

/** The head and the last stored line, read at the same moment. */
const LogEnd = Schema.Struct({ ...AuditLine.LogHead.fields, last: Schema.Int })

/** A line's state of a row, beside the columns of the row as it is now. */
const StateOfRow = Schema.Struct(
  { line: Schema.Int, recordedId: Schema.String, recordedState: Schema.String },
  unread,
)
type StateOfRow = typeof StateOfRow.Type
const decodeState = Schema.decodeOption(Schema.parseJson(AuditLine.RowState))

/** Verifies the log in constant memory, while other processes append lines. */
export const makeVerify = (sql: SqlClient.SqlClient): Effect.Effect<LogVerification> => {
  const end = SqlSchema.findOne({
    Request: Schema.Void,
    Result: LogEnd,
    execute: () => sql`
      SELECT entries, head, COALESCE((SELECT MAX(sequence) FROM audit_log), 0) AS last
      FROM audit_head WHERE id = 1`,
  })
  const linesAfter = SqlSchema.findAll({
    Request: Schema.Int,
    Result: UnreadLine,
    execute: (after) => sql`
      SELECT ${sql.literal(lineColumns)} FROM audit_log
      WHERE sequence > ${after} ORDER BY sequence LIMIT ${pageSize}`,
  })
  const lines = rowsAfter(0, linesAfter, ({ sequence }) => sequence)

  return Effect.gen(function* () {
    const log = yield* Failure.orDie(end(undefined))
    if (Option.isNone(log)) return { lines: 0, problems: ["the audit log: its head is missing"] }
    // Leaves out lines that were appended after the head was read.
    const read = Stream.takeWhile(lines, ({ sequence }) => sequence <= log.value.last)
    const sums = yield* Stream.runFold(read, start, next)
    const broken = sums.broken ?? endOf(log.value, sums)
    return {
      lines: sums.entries,
      problems: [
        ...(broken === undefined ? [] : [`the audit log: ${broken}`]),
        ...(yield* rowsChanged(sql, "accounts", "account")),
        ...(yield* rowsChanged(sql, "api_keys", "key")),
        ...(yield* withoutLine(sql, sums.begin)),
      ].slice(0, maxProblems),
    }
  })
}

const endOf = (log: typeof LogEnd.Type, sums: Sums): string | undefined =>
  log.last > log.entries
    ? `line ${log.entries + 1} exists, but its head counts ${log.entries} lines`
    : sums.entries !== log.entries
      ? `line ${sums.entries + 1} is missing: its head counts ${log.entries} lines`
      : sums.head !== log.head
        ? `line ${sums.entries} is not the last line that its head records`
        : undefined

/** Finds rows that were changed or deleted without a line. */
const rowsChanged = (
  sql: SqlClient.SqlClient,
  table: "accounts" | "api_keys",
  name: "account" | "key",
) => {
  // One statement reads lines and rows, so that both belong to the same moment.
  const statesAfter = SqlSchema.findAll({
    Request: Schema.Struct({ rowId: Schema.String, line: Schema.Int }),
    Result: StateOfRow,
    execute: ({ line, rowId }) => sql`
      SELECT l.sequence AS line, l.row_id AS recorded_id, l.state AS recorded_state,
        ${sql.literal(rowColumns[table])}
      FROM audit_log l LEFT JOIN ${sql.literal(table)} t ON t.id = l.row_id
      WHERE l.row_table = ${table} AND l.state IS NOT NULL
        AND (l.row_id, l.sequence) > (${rowId}, ${line})
      ORDER BY l.row_id, l.sequence LIMIT ${pageSize}`,
  })
  return rowsAfter({ rowId: "", line: 0 }, statesAfter, ({ line, recordedId }) => ({
    rowId: recordedId,
    line,
  })).pipe(
    Stream.groupAdjacentBy(({ recordedId }) => recordedId),
    Stream.map(([id, states]) => [id, problemOf(Chunk.toReadonlyArray(states))] as const),
    Stream.filter(([, problem]) => problem !== undefined),
    Stream.map(([id, problem]) => `${name} ${id}: ${problem}`),
    Stream.take(maxProblems),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray),
  )
}

const problemOf = (states: ReadonlyArray<StateOfRow>): string | undefined => {
  const expected = states.reduce(
    (before: AuditLine.Expected | undefined, { line, recordedState }) =>
      Option.match(decodeState(recordedState), {
        // The chain is broken at this line, which is a problem of its own.
        onNone: () => before,
        onSome: (state) => AuditLine.follow(before, line, state),
      }),
    undefined,
  )
  const last = states.at(-1)
  if (expected === undefined || last === undefined) return undefined
  const { line: _, recordedId: __, recordedState: ___, ...now } = last
  if (now["id"] === null) return "it was deleted without a line in the audit log"
  const column = expected.tampered ?? AuditLine.differenceOf(expected.row, stateOf(now))
  return column === undefined
    ? undefined
    : `its ${naming.transformQueryNames(column)} was changed without a line in the audit log`
}

/** Compares what has no line with what there was before the log began. */
const withoutLine = (sql: SqlClient.SqlClient, begin: Option.Option<Unlogged>) =>
  Effect.gen(function* () {
    const wrong = yield* wronglyGranted(sql)
    const [now] = yield* unlogged(sql)
    return [
      ...wrong.map(
        ({ accountId, granted, logged }) =>
          `account ${accountId}: it was granted ${granted} credits, but the audit log has lines for ${logged}`,
      ),
      ...Option.match(begin, {
        onNone: () => [],
        onSome: (before) =>
          (["accounts", "keys", "granted"] as const).flatMap((what) =>
            before[what] === now[what]
              ? []
              : [
                  `the audit log began with ${before[what]} ${names[what]}, but ${now[what]} have no line`,
                ],
          ),
      }),
    ]
  }).pipe(Failure.orDie)

const names = { accounts: "accounts", keys: "keys", granted: "granted credits" }
