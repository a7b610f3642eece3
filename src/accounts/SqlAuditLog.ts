/** The audit log in SQL. The other stores wrap their changes with `recorded`. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import {
  type Act,
  Actor,
  AuditLine,
  AuditLog,
  CurrentAct,
  cut,
  Detail,
  type Page,
} from "./AuditLog.ts"
import { retentionMs } from "../ledger/Hold.ts"
import * as Failure from "../database/Failure.ts"
import { makeRetryAfterDisconnection } from "../database/retry.ts"

export const layer: Layer.Layer<AuditLog, never, SqlClient.SqlClient> = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const append = makeAppend(sql)
    const retried = yield* makeRetryAfterDisconnection
    const { doneUnder, listed } = makeQueries(sql)

    return AuditLog.of({
      append: Effect.fn("AuditLog.append")((act) =>
        append(act).pipe(sql.withTransaction, Failure.orDie),
      ),
      doneUnder: Effect.fn("AuditLog.doneUnder")((key) => Failure.orDie(doneUnder(key))),
      list: Effect.fn("AuditLog.list")((page) => Failure.orDie(retried(listed(page)))),
    })
  }),
)

/** Makes a function that makes a change and appends its line to the log in one transaction. */
export const makeRecorded = (sql: SqlClient.SqlClient) => {
  const append = makeAppend(sql)
  return <A, E, R>(
    action: string,
    subject: string,
    detail: Detail,
    change: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | SqlError | ParseError, R> =>
    sql.withTransaction(Effect.zipLeft(change, append({ action, subject, detail })))
}

const makeAppend = (sql: SqlClient.SqlClient) => {
  // Locks the counter until the transaction ends. The line is written after the other locks of the
  // change have been taken, which prevents deadlocks.
  const nextSequence = Effect.flatMap(
    sql`UPDATE audit_head SET entries = entries + 1 WHERE id = 1 RETURNING entries`,
    decodeCounter,
  )
  return Effect.fnUntraced(function* ({ action, detail, subject }: Act) {
    const [{ entries: sequence }] = yield* nextSequence
    const line = {
      sequence,
      at: yield* Clock.currentTimeMillis,
      actor: cut(yield* Actor),
      action,
      subject: cut(subject),
      detail: encodeDetail(detail),
      // Not used any more: only version 1.1.0 chained the lines.
      hash: "",
    }
    yield* sql`INSERT INTO audit_log ${sql.insert(line)}`
    const request = yield* CurrentAct
    if (request === undefined) return
    const { fingerprint, key: requestKey } = request
    // A second act under the same key fails here, which rolls its change back.
    const expiresAt = line.at + retentionMs
    yield* sql`INSERT INTO act_requests ${sql.insert({ requestKey, action, fingerprint, rowId: subject, expiresAt })}`
  })
}

const decodeCounter = Schema.decodeUnknown(
  Schema.Tuple(Schema.Struct({ entries: Schema.Int.pipe(Schema.positive()) })),
)

const encodeDetail = Schema.encodeSync(Schema.parseJson(Detail))

const ListedLine = Schema.Struct({ ...AuditLine.fields, detail: Schema.parseJson(Detail) })

const decodeLines = Schema.decodeUnknown(Schema.Array(ListedLine))

const makeQueries = (sql: SqlClient.SqlClient) => ({
  listed: ({ before = Number.MAX_SAFE_INTEGER, limit, action, actor, subject }: Page) => {
    const asked = Object.entries({ action, actor, subject })
    return sql`
      SELECT sequence, at, actor, action, subject, detail FROM audit_log
      WHERE ${sql.and([
        sql`sequence < ${before}`,
        ...asked.flatMap(([column, value]) =>
          value === undefined ? [] : [sql`${sql(column)} = ${value}`],
        ),
      ])}
      ORDER BY sequence DESC LIMIT ${limit}`.pipe(Effect.flatMap(decodeLines))
  },
  doneUnder: SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({
      action: Schema.String,
      fingerprint: Schema.String,
      rowId: Schema.NullOr(Schema.String),
    }),
    execute: (key) => sql`
      SELECT action, fingerprint, row_id FROM act_requests WHERE request_key = ${key}`,
  }),
})
