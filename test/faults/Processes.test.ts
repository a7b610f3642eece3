/** Tests several processes on one PostgreSQL database, including one with unusual defaults. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  charge,
  endLeases,
  expire,
  figures,
  hold,
  problemsOf,
  settle,
  statement,
} from "../../scripts/support/ledger.ts"
import * as Postgres from "../../src/database/Postgres.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"

describe("a PostgreSQL database with unusual default settings", () => {
  const settingsUnder = (synchronousCommit: string) =>
    Effect.gen(function* () {
      const url = yield* temporaryDatabase
      const name = new URL(Redacted.value(url)).pathname.slice(1)
      const alter = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.zipRight(
          sql.unsafe(`ALTER DATABASE ${name} SET synchronous_commit = ${synchronousCommit}`),
          sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_isolation = serializable`),
        ),
      )
      // Connect through another database, because a pooler keeps connections to this one, which
      // have the old defaults.
      const other = new URL("/postgres", Redacted.value(url)).href
      yield* Effect.provide(alter, Postgres.layer(Redacted.make(other)))
      const shown = Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          SELECT current_setting('synchronous_commit') AS commit,
            current_setting('transaction_isolation') AS isolation`,
      )
      return yield* Effect.provide(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(shown)),
        postgresDatabase(url),
      )
    })

  it.scopedLive(
    "transactions override unsafe defaults of the database for isolation and durability",
    () =>
      Effect.gen(function* () {
        const isolation = "read committed"
        assert.deepStrictEqual(yield* settingsUnder("off"), [{ commit: "on", isolation }])
        for (const commit of ["local", "remote_write", "remote_apply"]) {
          assert.deepStrictEqual(yield* settingsUnder(commit), [{ commit, isolation }])
        }
      }),
  )
})

describe("two processes on one database", () => {
  const processes = Effect.gen(function* () {
    const url = yield* temporaryDatabase
    return [
      yield* Layer.build(postgresDatabase(url)),
      yield* Layer.build(postgresDatabase(url)),
    ] as const
  })

  it.scopedLive(
    "two processes on one database never hold or charge more credits than the account has",
    () =>
      Effect.gen(function* () {
        const [one, other] = yield* processes
        const account = yield* Effect.provide(newAccountWith(200), one)
        const outcomes = yield* Effect.forEach(
          Array(600).keys(),
          (i) =>
            hold(account, 1).pipe(
              Effect.tap((held) => settle(held, i % 3 === 0 ? 0 : 1)),
              Effect.either,
              Effect.provide(i % 2 === 0 ? one : other),
            ),
          { concurrency: 64 },
        )
        const { available, charged, held } = yield* Effect.provide(figures(account), one)
        assert.deepStrictEqual([charged + available, held], [200, 0])
        assert.isAtLeast(available, 0)
        assert.isAtLeast(outcomes.filter(Either.isRight).length, charged)
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), other), [])
      }),
  )

  it.scopedLive(
    "two processes together can hold all available credits but not more, and each process can settle the other's holds",
    () =>
      Effect.gen(function* () {
        const [one, other] = yield* processes
        const account = yield* Effect.provide(newAccountWith(50), one)
        const outcomes = yield* Effect.forEach(
          Array(120).keys(),
          (i) => Effect.either(Effect.provide(hold(account, 1), i % 2 === 0 ? one : other)),
          { concurrency: "unbounded" },
        )
        const held = outcomes.filter(Either.isRight)
        assert.strictEqual(held.length, 50)
        // The other process settles each hold.
        yield* Effect.forEach(
          held,
          ({ right }, i) => Effect.provide(settle(right, 1), i % 2 === 0 ? other : one),
          { concurrency: "unbounded" },
        )
        assert.deepInclude(yield* Effect.provide(figures(account), other), { charged: 50, held: 0 })
        assert.strictEqual((yield* Effect.provide(statement(account), one)).length, 51)
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), one), [])
      }),
  )

  it.scopedLive("two processes that charge the same accounts do not deadlock", () =>
    Effect.gen(function* () {
      const [one, other] = yield* processes
      const accounts = yield* Effect.provide(
        Effect.forEach(Array(8).fill(100), newAccountWith),
        one,
      )
      const outcomes = yield* Effect.forEach(
        Array(400).keys(),
        (i) => {
          const account = accounts[(i * 5) % accounts.length] ?? accounts[0]
          return account === undefined
            ? Effect.dieMessage("no account")
            : Effect.exit(Effect.provide(charge(account, 1), i % 2 === 0 ? one : other))
        },
        { concurrency: "unbounded" },
      )
      assert.isTrue(outcomes.every(Exit.isSuccess))
    }),
  )

  it.scopedLive(
    "when two processes release expired holds at the same time, each hold is released once",
    () =>
      Effect.gen(function* () {
        const [one, other] = yield* processes
        const account = yield* Effect.provide(newAccountWith(50), one)
        const held = yield* Effect.provide(
          Effect.forEach(Array(20).keys(), () => hold(account, 2), { concurrency: "unbounded" }),
          one,
        )
        yield* Effect.provide(endLeases, one)
        const counts = yield* Effect.all(
          [Effect.provide(expire, one), Effect.provide(expire, other)],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(counts[0] + counts[1], 20)
        assert.deepInclude(yield* Effect.provide(figures(account), one), { held: 0, available: 50 })
        const late = yield* Effect.forEach(held, (hold) =>
          Effect.exit(Effect.provide(settle(hold, 2), one)),
        )
        assert.isTrue(late.every(Exit.isFailure))
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), one), [])
      }),
  )

  it.scopedLive("a process can charge an account whose row a frozen process has locked", () =>
    Effect.gen(function* () {
      const [one, other] = yield* processes
      const account = yield* Effect.provide(newAccountWith(10), one)
      const sql = Context.get(one, SqlClient.SqlClient)
      const isLocked = yield* Deferred.make<void>()
      yield* Effect.gen(function* () {
        const [limit] = yield* sql`
          SELECT current_setting('idle_in_transaction_session_timeout') AS value`
        assert.strictEqual(limit?.["value"], "5s")
        // Use a short timeout, so that the test need not wait for the real one.
        yield* sql`SET LOCAL idle_in_transaction_session_timeout = '300ms'`
        yield* sql`SELECT held FROM balances WHERE account_id = ${account} FOR UPDATE`
        yield* Deferred.succeed(isLocked, undefined)
        yield* Effect.never
      }).pipe(sql.withTransaction, Effect.forkScoped)
      yield* Deferred.await(isLocked)
      yield* Effect.provide(charge(account, 1), other)
      assert.strictEqual((yield* Effect.provide(figures(account), other)).charged, 1)
    }),
  )
})
