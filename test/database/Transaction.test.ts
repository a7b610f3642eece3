/** Transactions on both databases: success, failure, interruption, nesting and retries. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Postgres from "../../src/database/Postgres.ts"
import { databases, hasPostgres, temporaryDatabase } from "../support/Stores.ts"

/** Creates a table of numbers. `storedNumbers` reads its rows. */
const numbers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE n (n INTEGER NOT NULL)`
  const insert = (n: number | null) => sql`INSERT INTO n VALUES (${n})`
  const storedNumbers = Effect.map(sql<{ n: number }>`SELECT n FROM n ORDER BY n`, (rows) =>
    rows.map(({ n }) => n),
  )
  return { sql, insert, storedNumbers }
})

for (const [name, database] of databases) {
  describe(`a transaction in ${name}`, () => {
    it.effect("a transaction that succeeds writes all its rows", () =>
      Effect.gen(function* () {
        const { insert, sql, storedNumbers } = yield* numbers
        assert.strictEqual(
          yield* Effect.zipRight(insert(1), Effect.as(insert(2), "done")).pipe(sql.withTransaction),
          "done",
        )
        assert.deepStrictEqual(yield* storedNumbers, [1, 2])
      }).pipe(Effect.provide(database)),
    )

    it.effect(
      "a transaction that fails, dies or is interrupted writes nothing, and the next transaction succeeds",
      () =>
        Effect.gen(function* () {
          const { insert, sql, storedNumbers } = yield* numbers
          const after = (end: Effect.Effect<unknown, unknown>) =>
            Effect.exit(sql.withTransaction(Effect.zipRight(insert(1), end)))
          assert.deepStrictEqual(yield* after(Effect.fail("no")), Exit.fail("no"))
          assert.deepStrictEqual(yield* after(Effect.die("defect")), Exit.die("defect"))
          assert.isTrue(Exit.isFailure(yield* after(insert(null))))
          assert.isTrue(Exit.isInterrupted(yield* after(Effect.interrupt)))

          const begun = yield* Deferred.make<void>()
          const begins = Effect.zipRight(insert(1), Deferred.succeed(begun, undefined))
          const fiber = yield* Effect.fork(
            sql.withTransaction(Effect.zipRight(begins, Effect.never)),
          )
          yield* Deferred.await(begun)
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))

          yield* sql.withTransaction(insert(2))
          assert.deepStrictEqual(yield* storedNumbers, [2])
        }).pipe(Effect.provide(database)),
    )

    it.effect("a nested transaction can fail without failing the outer transaction", () =>
      Effect.gen(function* () {
        const { insert, sql, storedNumbers } = yield* numbers
        const inner = Effect.zipRight(insert(2), Effect.fail("no")).pipe(sql.withTransaction)
        yield* insert(1).pipe(
          Effect.zipRight(Effect.ignore(inner)),
          Effect.zipRight(sql.withTransaction(insert(3))),
          sql.withTransaction,
        )
        assert.deepStrictEqual(yield* storedNumbers, [1, 3])
        yield* Effect.exit(
          sql.withTransaction(Effect.zipRight(sql.withTransaction(insert(4)), Effect.fail("no"))),
        )
        assert.deepStrictEqual(yield* storedNumbers, [1, 3])
      }).pipe(Effect.provide(database)),
    )
  })
}

describe.runIf(hasPostgres)("a PostgreSQL statement whose fiber is interrupted", () => {
  // A cancel request would need a second connection, and could end a later statement on this one.
  it.scopedLive.each(["in", "outside"])(
    "an interrupted statement %s a transaction ends by itself, and no later statement is cancelled",
    (place) =>
      Effect.gen(function* () {
        const client = yield* Layer.build(
          Postgres.layer(yield* temporaryDatabase, { connections: 1 }),
        )
        const sql = Context.get(client, SqlClient.SqlClient)
        const sleep = sql`SELECT CAST(pg_sleep(0.2) AS TEXT)`
        for (let i = 0; i < 5; i++) {
          const running = yield* Effect.fork(place === "in" ? sql.withTransaction(sleep) : sleep)
          yield* Effect.sleep("50 millis")
          const [duration] = yield* Effect.timed(Fiber.interrupt(running))
          assert.isBelow(Duration.toMillis(duration), 20_000)
          yield* sql.withTransaction(sleep)
        }
      }),
  )
})
