import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountId } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../ApiKeys.ts"
import * as Failure from "./Failure.ts"
import { nextPage, pageSize } from "./paging.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"

/** Stores API keys in SQL. Writes the time of a key's last use within about 5 seconds. */
export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient> = Layer.scoped(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection

    const columns = sql.literal(
      "id, account_id, label, start, created_at, expires_at, lifetime_ms, revoked_at, last_used_at",
    )
    const byHash = SqlSchema.findOne({
      Request: ApiKey.KeyHash,
      Result: KeyRow,
      execute: (hash) => sql`SELECT ${columns} FROM api_keys WHERE hash = ${hash}`,
    })
    const byId = SqlSchema.findOne({
      Request: ApiKey.ApiKeyId,
      Result: ApiKey.ApiKey,
      execute: (id) => sql`SELECT ${columns} FROM api_keys WHERE id = ${id}`,
    })
    const byAccount = SqlSchema.findAll({
      Request: AccountId,
      Result: KeyRow,
      execute: (account) =>
        sql`SELECT ${columns} FROM api_keys WHERE account_id = ${account} ORDER BY created_at, id`,
    })
    const after = SqlSchema.findAll({
      Request: Schema.String,
      Result: KeyRow,
      execute: (id) =>
        sql`SELECT ${columns} FROM api_keys WHERE id > ${id} ORDER BY id LIMIT ${pageSize}`,
    })
    const revokedAt = SqlSchema.findOne({
      Request: Schema.Struct({ id: ApiKey.ApiKeyId, now: Schema.Int }),
      Result: Schema.Struct({ revokedAt: Schema.Int }),
      execute: ({ id, now }) => sql`
        UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ${now}) WHERE id = ${id}
        RETURNING revoked_at`,
    })

    const insert = <Issued extends ApiKey.IssuedKey>(issued: Issued) => {
      const row = { ...issued.record, hash: ApiKey.hash(issued.key) }
      return Effect.as(sql`INSERT INTO api_keys ${sql.insert(row)}`, issued)
    }

    /**
     * The time of last use of each key, in epoch milliseconds, until it is written to the database.
     * No request waits for the write.
     */
    const lastUses = new Map<ApiKey.ApiKeyId, number>()
    const writeLastUses = Effect.suspend(() => {
      // Every process updates the rows in the same order, which prevents deadlocks.
      const uses = Arr.sortWith(lastUses, ([id]) => id, Order.string)
      lastUses.clear()
      return Effect.forEach(
        uses,
        ([id, at]) => sql`
          UPDATE api_keys SET last_used_at = ${at}
          WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${at})`,
      ).pipe(
        sql.withTransaction,
        Effect.when(() => uses.length > 0),
      )
    }).pipe(
      // No request depends on the times of last use, so a failure to save them is only logged.
      Effect.catchAllCause((cause) =>
        Effect.logDebug(
          "The times of last use of API keys were not saved, so 'authority key list' may show earlier times.",
          cause,
        ),
      ),
    )
    const scope = yield* Effect.scope
    yield* Effect.addFinalizer(() => writeLastUses)

    const noteUse = (id: ApiKey.ApiKeyId, now: number) =>
      Effect.suspend(() => {
        const isFirst = lastUses.size === 0
        lastUses.set(id, now)
        return isFirst
          ? Effect.forkIn(Effect.delay(writeLastUses, "5 seconds"), scope)
          : Effect.void
      })

    return ApiKeys.of({
      authenticate: Effect.fn("ApiKeys.authenticate")(function* (key) {
        if (!ApiKey.isWellFormed(key)) return yield* new InvalidApiKey()
        const row = yield* retried(byHash(ApiKey.hash(key)))
        if (Option.isNone(row)) return yield* new InvalidApiKey()
        const record = readKey(row.value)
        if (Either.isLeft(record)) {
          const { id, problem } = record.left
          yield* Effect.logError(
            `The record of the key ${id} cannot be read, so the key is refused. Revoke the key and create another key.`,
            problem,
          )
          return yield* new InvalidApiKey()
        }
        const now = yield* Clock.currentTimeMillis
        if (!ApiKey.isUsable(record.right, now)) return yield* new InvalidApiKey()
        yield* noteUse(record.right.id, now)
        return record.right
      }, Failure.orDie),

      issue: Effect.fn("ApiKeys.issue")(function* (options) {
        const now = yield* Clock.currentTimeMillis
        return yield* sql.withTransaction(insert(ApiKey.issue(ApiKey.terms(options), now)))
      }, Failure.orDie),

      rotate: Effect.fn("ApiKeys.rotate")(
        function* (id, grace) {
          const now = yield* Clock.currentTimeMillis
          const former = yield* byId(id)
          if (Option.isNone(former) || !ApiKey.isUsable(former.value, now)) {
            return yield* new ApiKeyNotFound({ id })
          }
          const issued = ApiKey.rotate(former.value, now, Duration.toMillis(grace))
          const { endsAt } = issued.replaces
          yield* sql`UPDATE api_keys SET expires_at = ${endsAt} WHERE id = ${id}`
          return yield* insert(issued)
        },
        sql.withTransaction,
        Failure.orDie,
      ),

      undoIssue: Effect.fn("ApiKeys.undoIssue")(
        function* ({ record, replaces }) {
          const now = yield* Clock.currentTimeMillis
          yield* sql`UPDATE api_keys SET revoked_at = ${now} WHERE id = ${record.id}`
          if (replaces === undefined) return
          const { endsAt, former } = replaces
          yield* sql`
            UPDATE api_keys SET expires_at = ${former.expiresAt}
            WHERE id = ${former.id} AND expires_at = ${endsAt}`
        },
        sql.withTransaction,
        Failure.orDie,
      ),

      revoke: Effect.fn("ApiKeys.revoke")(function* (id) {
        const now = yield* Clock.currentTimeMillis
        const revoked = yield* revokedAt({ id, now })
        if (Option.isNone(revoked)) return yield* new ApiKeyNotFound({ id })
        return { id, revokedAt: revoked.value.revokedAt }
      }, Failure.orDie),

      list: Effect.fn("ApiKeys.list")((account) =>
        Failure.orDie(Effect.map(byAccount(account), Arr.map(readKey))),
      ),

      unreadable: Stream.paginateChunkEffect("", (id) =>
        Effect.map(Failure.orDie(after(id)), (page) => [
          Chunk.unsafeFromArray(Arr.getLefts(page.map(readKey))),
          Option.map(nextPage(page), (last) => last.id),
        ]),
      ).pipe(Stream.runCollect, Effect.map(Chunk.toReadonlyArray)),
    })
  }),
)

/**
 * A row of a key before decoding. Each row is decoded by itself, so that a damaged row does not
 * fail the others.
 */
const KeyRow = Schema.Struct({ id: ApiKey.ApiKeyId }, { key: Schema.String, value: Schema.Unknown })

const decodeKey = Schema.decodeUnknownEither(ApiKey.ApiKey)

const readKey = (row: typeof KeyRow.Type): Either.Either<ApiKey.ApiKey, ApiKey.UnreadableKey> =>
  Either.mapLeft(decodeKey(row), (error) => ({
    id: row.id,
    problem: Failure.unreadable(error),
  }))
