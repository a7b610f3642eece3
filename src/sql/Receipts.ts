import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { RequestId } from "../RequestId.ts"
import {
  type Claim,
  KeyReused,
  type Receipt,
  Receipts,
  retentionMs,
  StillInFlight,
} from "../Receipts.ts"
import * as Failure from "./Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { rowsOf } from "./rows.ts"

/** A claim whose owner is gone can be taken over after `lease`. */
export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<Receipts, never, SqlClient.SqlClient> =>
  Layer.scoped(
    Receipts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const leaseMs = Duration.toMillis(options.lease)
      const queries = makeQueries(sql)

      const takeOrFind = Effect.fnUntraced(function* (claim: Claim, now: number) {
        const taken = yield* queries.take({ ...claim, now, expiresAt: now + leaseMs })
        if (Option.isSome(taken)) return Either.right(undefined)
        const former = yield* queries.find(claim)
        // It was given up between the two looks at it.
        if (Option.isNone(former)) return Either.left(new StillInFlight())
        const { body, fingerprint, requestId } = former.value
        if (fingerprint !== claim.fingerprint) return Either.left(new KeyReused())
        if (body !== null) return Either.right(body)
        // Or it was taken for this very request, and nobody heard of it.
        return requestId === claim.requestId
          ? Either.right(undefined)
          : Either.left(new StillInFlight())
      })

      const queue = yield* GroupCommit.make((claims: ReadonlyArray<PendingClaim>) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          for (const { answer, claim } of Arr.sort(claims, inOrderOfKeys)) {
            answer(yield* takeOrFind(claim, now))
          }
        }).pipe(GroupCommit.inTransaction(sql)),
      )

      return Receipts.of({
        claim: Effect.fn("Receipts.claim")((claim) =>
          Effect.suspend(() => {
            let outcome: Exit.Exit<string | undefined, KeyReused | StillInFlight> = notAsked
            const answer = (
              either: Either.Either<string | undefined, KeyReused | StillInFlight>,
            ) => {
              outcome = Exit.fromEither(either)
            }
            return GroupCommit.awaited<string | undefined, KeyReused | StillInFlight>((callback) =>
              queue.submit({ claim, answer }, (exit) =>
                callback(Exit.isSuccess(exit) ? outcome : Exit.failCause(exit.cause)),
              ),
            )
            // A key is not taken for somebody who does not know of it.
          }).pipe(Effect.uninterruptible),
        ),

        keep: Effect.fn("Receipts.keep")((receipt) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => queries.keep([receipt], now)).pipe(
            sql.withTransaction,
            Effect.map((kept) => kept.length > 0),
            Failure.orDie,
          ),
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
          let count = 0
          let ended: ReadonlyArray<unknown>
          do {
            ended = yield* sql.withTransaction(queries.deleteExpired(now))
            count += ended.length
          } while (ended.length === sweepSize)
          return count
        }).pipe(Failure.orDie),
      })
    }),
  )

/** How many answers go in one statement; the longest are a few kilobytes. */
const pieceSize = 128

const ClaimedKey = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  requestId: RequestId,
})

/** One claim, waiting for its transaction. */
interface PendingClaim {
  readonly claim: Claim
  readonly answer: (outcome: Either.Either<string | undefined, KeyReused | StillInFlight>) => void
}

const notAsked = Exit.die("the claim was not looked at")

/** As the database sorts them; both are ASCII. */
const inOrderOfKeys = Order.combine(
  Order.mapInput(Order.string, ({ claim }: PendingClaim) => claim.accountId),
  Order.mapInput(Order.string, ({ claim }: PendingClaim) => claim.key),
)

const TakeRequest = Schema.Struct({
  accountId: AccountId,
  key: Schema.String,
  fingerprint: Schema.String,
  requestId: RequestId,
  now: Schema.Int,
  expiresAt: Schema.Int,
})
const FindRequest = Schema.Struct({ accountId: AccountId, key: Schema.String })
const Found = Schema.Struct({
  fingerprint: Schema.String,
  requestId: RequestId,
  body: Schema.NullOr(Schema.String),
})

export const makeQueries = (sql: SqlClient.SqlClient) => {
  const [forUpdate, skippingLocked] = sql.onDialectOrElse({
    pg: () => [
      sql.literal('COLLATE "C" FOR UPDATE OF receipts'),
      sql.literal("FOR UPDATE SKIP LOCKED"),
    ],
    // An immediate transaction has the whole file to itself.
    orElse: () => [sql.literal(""), sql.literal("")],
  })
  return {
    /**
     * The requests that still have their keys, and keep them for the rest of the transaction. In one
     * order everywhere, so that nobody waits in a circle.
     */
    lockClaims: SqlSchema.findAll({
      Request: Schema.Array(ClaimedKey),
      Result: Schema.Struct({ requestId: RequestId }),
      execute: (claims) => {
        const rows = claims.map(({ accountId, key, requestId }) => [accountId, key, requestId])
        return sql`
        SELECT request_id FROM receipts JOIN ${rowsOf(sql, rows)}
          ON account_id = value->>0 AND receipts.key = value->>1
        WHERE request_id = value->>2 ORDER BY account_id, receipts.key ${forUpdate}`
      },
    }),

    /**
     * In the transaction that charges for the answers, so that neither is ever without the other;
     * gives the requests that still had their keys.
     */
    keep: (receipts: ReadonlyArray<Receipt>, now: number) =>
      Effect.map(
        Effect.forEach(Arr.chunksOf(receipts, pieceSize), (some) => {
          const rows = some.map(({ body, claim }) => [
            claim.accountId,
            claim.key,
            claim.requestId,
            body,
          ])
          return sql`
        UPDATE receipts SET body = value->>3, expires_at = ${now + retentionMs}
        FROM ${rowsOf(sql, rows)}
        WHERE account_id = value->>0 AND receipts.key = value->>1 AND request_id = value->>2
        RETURNING request_id`
        }),
        Arr.flatten,
      ),

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
      SELECT fingerprint, request_id, body FROM receipts WHERE account_id = ${accountId} AND key = ${key}`,
    }),

    /** Passes by what somebody has in hand at the moment; the next sweep will find it. */
    deleteExpired: (now: number) => sql`
    DELETE FROM receipts WHERE (account_id, key) IN (
      SELECT account_id, key FROM receipts WHERE expires_at <= ${now}
      LIMIT ${sweepSize} ${skippingLocked}
    ) RETURNING key`,
  }
}

/** How many receipts one transaction forgets, so that nobody waits long for the database. */
const sweepSize = 1000
