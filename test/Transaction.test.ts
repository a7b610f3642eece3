/** What both databases promise of a transaction, whichever way it ends. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Tracer from "effect/Tracer"
import { retry } from "../src/sql/retry.ts"
import { databases } from "./support/Stores.ts"

/** A table of numbers, and what stands in it. */
const numbers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE n (n INTEGER NOT NULL)`
  const insert = (n: number | null) => sql`INSERT INTO n VALUES (${n})`
  const stand = Effect.map(sql<{ n: number }>`SELECT n FROM n ORDER BY n`, (rows) =>
    rows.map(({ n }) => n),
  )
  return { sql, insert, stand }
})

for (const [name, database] of databases) {
  describe(`a transaction in ${name}`, () => {
    it.effect("is there as a whole once it has ended", () =>
      Effect.gen(function* () {
        const { insert, sql, stand } = yield* numbers
        assert.strictEqual(
          yield* Effect.zipRight(insert(1), Effect.as(insert(2), "done")).pipe(sql.withTransaction),
          "done",
        )
        assert.deepStrictEqual(yield* stand, [1, 2])
      }).pipe(Effect.provide(database)),
    )

    it.effect("is not there when it fails, dies or is interrupted, and the next one works", () =>
      Effect.gen(function* () {
        const { insert, sql, stand } = yield* numbers
        const after = (end: Effect.Effect<unknown, unknown>) =>
          Effect.exit(sql.withTransaction(Effect.zipRight(insert(1), end)))
        assert.deepStrictEqual(yield* after(Effect.fail("no")), Exit.fail("no"))
        assert.deepStrictEqual(yield* after(Effect.die("defect")), Exit.die("defect"))
        assert.isTrue(Exit.isFailure(yield* after(insert(null))))
        assert.isTrue(Exit.isInterrupted(yield* after(Effect.interrupt)))

        const begun = yield* Deferred.make<void>()
        const begins = Effect.zipRight(insert(1), Deferred.succeed(begun, undefined))
        const fiber = yield* Effect.fork(sql.withTransaction(Effect.zipRight(begins, Effect.never)))
        yield* Deferred.await(begun)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))

        yield* sql.withTransaction(insert(2))
        assert.deepStrictEqual(yield* stand, [2])
      }).pipe(Effect.provide(database)),
    )

    it.effect("within another one ends by itself", () =>
      Effect.gen(function* () {
        const { insert, sql, stand } = yield* numbers
        const inner = Effect.zipRight(insert(2), Effect.fail("no")).pipe(sql.withTransaction)
        yield* insert(1).pipe(
          Effect.zipRight(Effect.ignore(inner)),
          Effect.zipRight(sql.withTransaction(insert(3))),
          sql.withTransaction,
        )
        assert.deepStrictEqual(yield* stand, [1, 3])
        yield* Effect.exit(
          sql.withTransaction(Effect.zipRight(sql.withTransaction(insert(4)), Effect.fail("no"))),
        )
        assert.deepStrictEqual(yield* stand, [1, 3])
      }).pipe(Effect.provide(database)),
    )

    it.effect("has a span for who listens", () =>
      Effect.gen(function* () {
        const { sql } = yield* numbers
        const span = yield* sql.withTransaction(Effect.currentSpan)
        assert.strictEqual(span.name, "sql.transaction")
        assert.strictEqual<Tracer.SpanKind>(span.kind, "client")
      }).pipe(Effect.provide(database)),
    )
  })
}

describe("what is tried again", () => {
  const counted = (failures: ReadonlyArray<string>) => {
    let runs = 0
    return Effect.suspend(() => {
      const failure = failures[runs++]
      return failure === undefined ? Effect.succeed(runs) : Effect.fail(failure)
    })
  }
  const again = retry({ while: (error) => error === "again", schedule: Schedule.recurs(2) })

  it.effect("is run until it goes well", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* again(counted([])), 1)
      assert.strictEqual(yield* again(counted(["again"])), 2)
      assert.strictEqual(yield* again(counted(["again", "again", "again"])), 4)
    }),
  )

  it.effect("fails in the end, and at once for any other reason", () =>
    Effect.gen(function* () {
      const thrice = counted(["again", "again", "again", "again"])
      assert.strictEqual(yield* Effect.flip(again(thrice)), "again")
      assert.strictEqual(yield* Effect.flip(again(counted(["again", "no"]))), "no")
      assert.strictEqual(yield* Effect.flip(again(counted(["no"]))), "no")
    }),
  )
})
