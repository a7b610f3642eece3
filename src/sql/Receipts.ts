import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { RequestId } from "../LedgerEntry.ts"
import {
  type Claim,
  KeyReused,
  type Receipt,
  Receipts,
  retentionMs,
  StillInFlight,
} from "../Receipts.ts"
import * as Failure from "./Failure.ts"

/** A claim whose owner is gone can be taken over after `lease`. */
export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<Receipts, never, SqlClient.SqlClient> =>
  Layer.effect(
    Receipts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const leaseMs = Duration.toMillis(options.lease)
      const { find, take } = makeQueries(sql)

      return Receipts.of({
        claim: Effect.fn("Receipts.claim")(
          function* (claim: Claim) {
            const now = yield* Clock.currentTimeMillis
            const taken = yield* take({ ...claim, now, expiresAt: now + leaseMs })
            if (Option.isSome(taken)) return undefined
            const former = yield* find(claim)
            // It was given up between the two looks at it.
            if (Option.isNone(former)) return yield* new StillInFlight()
            const { body, fingerprint } = former.value
            if (fingerprint !== claim.fingerprint) return yield* new KeyReused()
            if (body === null) return yield* new StillInFlight()
            return body
          },
          sql.withTransaction,
          Failure.orDie,
        ),

        keep: Effect.fn("Receipts.keep")(
          (receipt) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => keep(sql, receipt, now)).pipe(
              sql.withTransaction,
              Failure.orDie,
            ),
          Effect.asVoid,
        ),

        release: Effect.fn("Receipts.release")(
          ({ accountId, key, requestId }) =>
            sql`
              DELETE FROM receipts WHERE account_id = ${accountId} AND key = ${key}
              AND request_id = ${requestId} AND body IS NULL`.pipe(
              sql.withTransaction,
              Failure.orDie,
            ),
          Effect.asVoid,
        ),

        expire: Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const ended = yield* sql`DELETE FROM receipts WHERE expires_at <= ${now} RETURNING key`
          return ended.length
        }).pipe(sql.withTransaction, Failure.orDie),
      })
    }),
  )

/** In the transaction that charges for the answer, so that neither is ever without the other. */
export const keep = (sql: SqlClient.SqlClient, { body, claim }: Receipt, now: number) =>
  sql`
    UPDATE receipts SET body = ${body}, expires_at = ${now + retentionMs}
    WHERE account_id = ${claim.accountId} AND key = ${claim.key}
    AND request_id = ${claim.requestId}`

const TakeRequest = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  fingerprint: Schema.String,
  requestId: RequestId,
  now: Schema.Int,
  expiresAt: Schema.Int,
})
const FindRequest = Schema.Struct({ accountId: AccountId, key: Schema.String })
const Found = Schema.Struct({ fingerprint: Schema.String, body: Schema.NullOr(Schema.String) })

const makeQueries = (sql: SqlClient.SqlClient) => ({
  /** Nothing comes back when somebody else has the key. */
  take: SqlSchema.findOne({
    Request: TakeRequest,
    Result: Schema.Struct({ requestId: RequestId }),
    execute: ({ now, ...row }) => sql`
      INSERT INTO receipts ${sql.insert(row)}
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, request_id = excluded.request_id,
        expires_at = excluded.expires_at, body = NULL
      WHERE receipts.expires_at <= ${now}
      RETURNING request_id`,
  }),

  find: SqlSchema.findOne({
    Request: FindRequest,
    Result: Found,
    execute: ({ accountId, key }) => sql`
      SELECT fingerprint, body FROM receipts WHERE account_id = ${accountId} AND key = ${key}`,
  }),
})
