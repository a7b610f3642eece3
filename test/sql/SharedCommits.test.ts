import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { awaited } from "../../src/Direct.ts"
import type * as GroupCommit from "../../src/sql/GroupCommit.ts"
import * as SharedCommits from "../../src/sql/SharedCommits.ts"
import * as Sqlite from "../../src/sql/Sqlite.ts"

/** Two stores that each insert their commands into a table of their own. */
const twoStores = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE numbers (value INTEGER CHECK (value > 0))`
  yield* sql`CREATE TABLE words (value TEXT CHECK (value <> ''))`
  const ended: Array<string> = []
  const ending = (name: string) => Effect.tap(() => Effect.sync(() => void ended.push(name)))
  const numbers = yield* SharedCommits.queueOf(sql, (values: ReadonlyArray<number>) => ({
    statements: Effect.forEach(values, (value) => sql`INSERT INTO numbers VALUES (${value})`, {
      discard: true,
    }),
    ending: ending("numbers"),
  }))
  const words = yield* SharedCommits.queueOf(sql, (values: ReadonlyArray<string>) => ({
    statements: Effect.forEach(values, (value) => sql`INSERT INTO words VALUES (${value})`, {
      discard: true,
    }),
    ending: ending("words"),
  }))
  const stored = Effect.map(
    sql<{ value: number | string }>`
      SELECT value FROM numbers UNION ALL SELECT value FROM words ORDER BY 1`,
    (rows) => rows.map(({ value }) => value),
  )
  return { numbers: submitTo(numbers), words: submitTo(words), ended, stored }
})

const submitTo =
  <Command>(queue: GroupCommit.Queue<Command>) =>
  (command: Command) =>
    awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(command, callback))

/** A database in memory, and how many transactions it has begun. */
const counted = Effect.gen(function* () {
  const context = yield* Layer.build(Sqlite.layer(":memory:"))
  const sql = yield* Effect.provide(SqlClient.SqlClient, context)
  let transactions = 0
  const withTransaction = sql.withTransaction
  Object.assign(sql, {
    withTransaction: (effect: Effect.Effect<unknown>) => {
      transactions++
      return withTransaction(effect)
    },
  })
  return {
    count: () => transactions,
    database: Layer.succeed(SqlClient.SqlClient, sql),
  }
})

const atOnce = { concurrency: "unbounded", discard: true } as const

describe("commits that stores share", () => {
  it.scoped("commands of two stores at the same time share a transaction", () =>
    Effect.gen(function* () {
      const { count, database } = yield* counted
      const shared = Layer.provideMerge(SharedCommits.layer, database)
      const { ended, numbers, stored, words } = yield* Effect.provide(
        twoStores,
        yield* Layer.build(shared),
      )
      yield* Effect.all([numbers(1), words("a"), numbers(2), words("b")], atOnce)
      assert.strictEqual(count(), 1)
      assert.deepStrictEqual(yield* stored, [1, 2, "a", "b"])
      assert.deepStrictEqual(ended.toSorted(), ["numbers", "words"])
      // A commit of one store is not a commit of the other.
      yield* words("c")
      assert.strictEqual(count(), 2)
      assert.deepStrictEqual(ended.slice(2), ["words"])
    }),
  )

  it.scoped("without shared commits, each store has transactions of its own", () =>
    Effect.gen(function* () {
      const { count, database } = yield* counted
      const { numbers, stored, words } = yield* Effect.provide(twoStores, database)
      yield* Effect.all([numbers(1), words("a"), numbers(2), words("b")], atOnce)
      assert.strictEqual(count(), 2)
      assert.deepStrictEqual(yield* stored, [1, 2, "a", "b"])
    }),
  )

  it.scoped("a command at fault fails alone, in whichever store", () =>
    Effect.gen(function* () {
      const { database } = yield* counted
      const shared = Layer.provideMerge(SharedCommits.layer, database)
      const { ended, numbers, stored, words } = yield* Effect.provide(
        twoStores,
        yield* Layer.build(shared),
      )
      const exits = yield* Effect.all(
        [numbers(1), words(""), numbers(-2), words("b")].map(Effect.exit),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, false, true])
      assert.deepStrictEqual(yield* stored, [1, "b"])
      assert.deepStrictEqual(ended.toSorted(), ["numbers", "words"])
    }),
  )

  it.effect("commands that wait when the stores close are committed", () =>
    Effect.gen(function* () {
      const { database } = yield* counted
      const shared = Layer.provideMerge(SharedCommits.layer, database)
      const results: Array<boolean> = []
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE numbers (value INTEGER)`
        const queue = yield* SharedCommits.queueOf(sql, ([value]: ReadonlyArray<number>) => ({
          statements: Effect.asVoid(sql`INSERT INTO numbers VALUES (${value ?? 0})`),
        }))
        queue.submit(1, (exit) => results.push(Exit.isSuccess(exit)))
      }).pipe(Effect.scoped, Effect.provide(shared))
      assert.deepStrictEqual(results, [true])
    }).pipe(Effect.scoped),
  )
})
