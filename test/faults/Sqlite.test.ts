/**
 * Tests clear errors and recovery when a SQLite file is on a full disk, locked, read-only or
 * damaged.
 */
import { closeSync, copyFileSync, openSync, statSync, writeSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  charge,
  figures,
  grant,
  hold,
  problemsOf,
  settle,
  statement,
} from "../../scripts/support/ledger.ts"
import { newLoad, nothingIsLost, run, storeFailureMessage } from "../support/load.ts"
import { newFile, sqliteFile } from "../support/Stores.ts"
import { eventually } from "../support/eventually.ts"

/** A ledger and its SQL client in a new file. */
const ledger = Layer.unwrapScoped(Effect.map(newFile, sqliteFile))

/** Returns the message of the store's failure. */
const failureMessage = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) =>
    Exit.isFailure(exit) ? storeFailureMessage(exit.cause) : assert.fail("it did not fail"),
  )

const pragma = (name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe<Record<string, unknown>>(`PRAGMA ${name}`),
  )

describe("a full SQLite database", () => {
  const fill = Effect.gen(function* () {
    const [count] = yield* pragma("page_count")
    yield* pragma(`max_page_count = ${Number(count?.["pageCount"]) + 4}`)
  })
  const makeRoom = pragma("max_page_count = 1073741823")

  it.scopedLive(
    "while the SQLite database is full, charges fail but no acknowledged charge is lost; charges succeed again once there is space",
    () =>
      Effect.gen(function* () {
        const account = yield* newAccountWith(100_000)
        yield* fill
        const load = newLoad()
        const clients = yield* Effect.fork(run(load, account, 20))
        yield* eventually("the disk is full", () => load.failures.length > 20)
        load.isOver = true
        yield* Fiber.join(clients)
        assert.isAbove(load.acknowledged.length, 0)
        for (const message of new Set(load.failures)) {
          assert.match(message, /^the disk is full; free some space/)
        }
        yield* nothingIsLost(load, account)

        yield* makeRoom
        const before = yield* figures(account)
        yield* charge(account, 1)
        assert.strictEqual((yield* figures(account)).charged, before.charged + 1)
        assert.deepStrictEqual(yield* problemsOf(account), [])
      }).pipe(Effect.provide(ledger)),
  )

  it.scopedLive("a COMMIT that fails writes nothing, and the next transaction succeeds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE parent (id INTEGER PRIMARY KEY)`
      yield* sql`
        CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)`
      // A violated deferred constraint makes the COMMIT itself fail, like a full disk.
      const failed = yield* Effect.either(sql.withTransaction(sql`INSERT INTO child VALUES (1)`))
      assert.strictEqual(failed._tag, "Left")
      yield* sql.withTransaction(sql`INSERT INTO parent VALUES (2)`)
      assert.deepStrictEqual(yield* sql`SELECT id FROM child`, [])
      assert.deepStrictEqual(yield* sql`SELECT id FROM parent`, [{ id: 2 }])
    }).pipe(Effect.provide(ledger)),
  )
})

describe("a SQLite file that cannot be written", () => {
  it.scoped("a read-only SQLite file fails writes with a clear error and still serves reads", () =>
    Effect.gen(function* () {
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 4)
      yield* pragma("query_only = ON")
      const messages = [
        yield* failureMessage(hold(account, 1)),
        yield* failureMessage(settle(held, 4)),
        yield* failureMessage(grant(account, 1)),
      ]
      for (const message of messages) {
        assert.match(message, /cannot be written; check the permissions/)
      }
      assert.deepInclude(yield* figures(account), { charged: 0, held: 4, available: 6 })
      assert.strictEqual((yield* statement(account)).length, 1)
      assert.deepStrictEqual(yield* problemsOf(account), [])
      yield* pragma("query_only = OFF")
      yield* settle(held, 4)
      assert.deepInclude(yield* figures(account), { charged: 4, held: 0 })
    }).pipe(Effect.provide(ledger)),
  )
})

describe("a SQLite file that another program has locked", () => {
  /** Takes the write lock of the file until `release` or the end of the scope. */
  const lock = (file: string) =>
    Effect.gen(function* () {
      const sql = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
      yield* sql`BEGIN IMMEDIATE`
      return { release: sql`ROLLBACK` }
    })

  it.scopedLive(
    "a write waits for another program's lock on the SQLite file, and reads continue",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const stores = yield* Layer.build(sqliteFile(file))
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const { release } = yield* lock(file)
          const held = yield* Effect.fork(hold(account, 3))
          for (let i = 0; i < 3; i++) assert.strictEqual((yield* figures(account)).held, 0)
          yield* release
          yield* Fiber.join(held)
          assert.strictEqual((yield* figures(account)).held, 3)
        }).pipe(Effect.provide(stores))
      }),
  )

  it.scopedLive(
    "a write fails with a clear error when another program keeps its lock for too long",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const stores = yield* Layer.build(sqliteFile(file))
        yield* Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const { release } = yield* lock(file)
          assert.match(yield* failureMessage(hold(account, 3)), /locked by another program/)
          assert.strictEqual((yield* figures(account)).available, 10)
          yield* release
          yield* charge(account, 3)
          assert.deepInclude(yield* figures(account), { charged: 3, held: 0 })
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(stores))
      }),
    20_000,
  )
})

describe("a damaged SQLite file", () => {
  const damage = (file: string, from: number, to: number) => {
    const descriptor = openSync(file, "r+")
    writeSync(descriptor, Buffer.alloc(to - from, 0x5a), 0, to - from, from)
    closeSync(descriptor)
  }

  it.scoped("a damaged SQLite file is refused at the start, and its backup can be opened", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const account = yield* Effect.provide(newAccountWith(10), sqliteFile(file))
      copyFileSync(file, `${file}.backup`)
      damage(file, 0, 4096)
      const opened = yield* Effect.flip(Layer.build(sqliteFile(file)))
      assert.match(String(opened), /damaged, or is not an SQLite database; restore a backup/)
      copyFileSync(`${file}.backup`, file)
      const { available } = yield* Effect.provide(figures(account), sqliteFile(file))
      assert.strictEqual(available, 10)
    }),
  )

  it.scoped(
    "if a query finds damage in a SQLite file that was not found when the file was opened, the error says that the database file is damaged",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const account = yield* Effect.gen(function* () {
          const id = yield* newAccountWith(10)
          yield* Effect.forEach(Array(400).keys(), () => grant(id, 1), { concurrency: "unbounded" })
          return id
        }).pipe(Effect.provide(sqliteFile(file)))
        // The first pages contain the schema and the accounts, which the statement needs.
        damage(file, 4096 * 52, statSync(file).size)
        const message = yield* failureMessage(statement(account)).pipe(
          Effect.provide(sqliteFile(file)),
        )
        assert.match(message, /damaged, or is not an SQLite database; restore a backup/)
      }),
  )
})
