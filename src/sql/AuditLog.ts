/** The audit log in SQL. The other stores append the lines of their changes with `auditLines`. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { AuditLog } from "../AuditLog.ts"
import { AuditLine, Detail } from "../ledger/AuditLine.ts"
import { makeLines } from "./auditLines.ts"
import { makeVerify } from "./auditVerification.ts"
import * as Failure from "./Failure.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"

const ListedLine = Schema.Struct({ ...AuditLine.fields, detail: Schema.parseJson(Detail) })

export const layer: Layer.Layer<AuditLog, never, SqlClient.SqlClient> = Layer.effect(
  AuditLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { appendAct } = makeLines(sql)
    const retried = yield* makeRetryAfterDisconnection
    const below = SqlSchema.findAll({
      Request: Schema.Struct({ before: Schema.Int, limit: Schema.Int }),
      Result: ListedLine,
      execute: ({ before, limit }) => sql`
        SELECT sequence, at, actor, action, subject, detail FROM audit_log
        WHERE sequence < ${before} ORDER BY sequence DESC LIMIT ${limit}`,
    })

    const doneUnder = SqlSchema.findAll({
      Request: Schema.String,
      Result: Schema.Struct({
        action: Schema.String,
        fingerprint: Schema.String,
        rowId: Schema.NullOr(Schema.String),
      }),
      execute: (key) => sql`
        SELECT action, fingerprint, row_id FROM act_requests WHERE request_key = ${key}`,
    })

    return AuditLog.of({
      append: Effect.fn("AuditLog.append")((act) =>
        appendAct(act).pipe(sql.withTransaction, Effect.asVoid, Failure.orDie),
      ),
      doneUnder: Effect.fn("AuditLog.doneUnder")((key) => Failure.orDie(doneUnder(key))),
      list: Effect.fn("AuditLog.list")(({ before = Number.MAX_SAFE_INTEGER, limit }) =>
        Failure.orDie(retried(below({ before, limit }))),
      ),
      verify: makeVerify(sql),
    })
  }),
)
