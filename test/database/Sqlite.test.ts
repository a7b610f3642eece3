import { chmodSync, readdirSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AccountName, Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as Health from "../../src/database/Health.ts"
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
import { newFile, sqliteFile } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"

describe("data in a SQLite file", () => {
  it.scoped(
    "accounts, keys, statement and holds are unchanged when a SQLite file is opened again",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const before = yield* Effect.gen(function* () {
          const account = yield* (yield* Accounts).create(AccountName.make("kept"))
          const { key, record } = yield* (yield* ApiKeys).issue({
            account: account.id,
            label: "kept",
          })
          yield* grant(account.id, 100, "kept")
          yield* charge(account.id, 30)
          const open = yield* hold(account.id, 10)
          const entries = yield* statement(account.id)
          return { account, key, record, open, entries, figures: yield* figures(account.id) }
        }).pipe(Effect.provide(sqliteFile(file)))

        yield* Effect.gen(function* () {
          const { account, entries, key, open, record } = before
          const keys = yield* ApiKeys
          assert.deepStrictEqual(yield* (yield* Accounts).find("kept"), account)
          assert.strictEqual((yield* keys.authenticate(key)).accountId, account.id)
          assert.deepStrictEqual(yield* keys.list(account.id), [record])
          assert.deepStrictEqual(yield* figures(account.id), before.figures)
          assert.deepStrictEqual(yield* statement(account.id), entries)
          yield* settle(open, 7)
          assert.strictEqual((yield* figures(account.id)).charged, 37)
          assert.deepStrictEqual(yield* problemsOf(account.id), [])
        }).pipe(Effect.provide(sqliteFile(file)))
      }),
  )

  it.scoped(
    "ledger commands that are queued when the SQLite store closes are committed first",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const [account, asked] = yield* Effect.gen(function* () {
          const account = yield* newAccountWith(100)
          const asked = yield* Effect.forEach(Array(20).keys(), () =>
            Effect.forkDaemon(hold(account, 1)),
          )
          yield* Effect.yieldNow()
          const answered = yield* Effect.forEach(asked, (fiber) => Fiber.poll(fiber))
          assert.isTrue(answered.every(Option.isNone))
          return [account, asked] as const
        }).pipe(Effect.provide(sqliteFile(file)))

        yield* Fiber.joinAll(asked)
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* figures(account)).held, 20)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(sqliteFile(file)))
      }),
  )
})

describe("a SQLite backup", () => {
  it.scopedLive(
    "a SQLite backup finishes during writes, and contains all writes acknowledged before its start",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const account = yield* Effect.gen(function* () {
          const id = yield* newAccountWith(1_000_000)
          yield* Effect.forEach(Array(3000).keys(), () => grant(id, 1), {
            concurrency: "unbounded",
          })
          const writer = yield* Effect.fork(Effect.forever(charge(id, 1)))
          yield* Sqlite.backup(file, `${file}.backup`)
          yield* Fiber.interrupt(writer)
          return id
        }).pipe(Effect.provide(sqliteFile(file)))
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* figures(account)).granted, 1_003_000)
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(sqliteFile(`${file}.backup`)))
      }),
  )
})

describe("the permissions of a SQLite database's files", () => {
  const withUmask = (umask: number) =>
    Effect.acquireRelease(
      Effect.sync(() => process.umask(umask)),
      (former) => Effect.sync(() => process.umask(former)),
    )

  /** Returns the permissions of each file, in octal. */
  const modes = (folder: string) =>
    Object.fromEntries(
      readdirSync(folder).map((name) => [
        name,
        (statSync(join(folder, name)).mode & 0o777).toString(8),
      ]),
    )

  for (const umask of [0o000, 0o077, 0o777]) {
    it.scoped(
      `database and backup files are readable only by their owner under the umask ${umask.toString(8)}`,
      () =>
        Effect.gen(function* () {
          const file = yield* newFile
          yield* withUmask(umask)
          yield* Layer.build(sqliteFile(file))
          assert.deepStrictEqual(modes(dirname(file)), {
            "authority.db": "600",
            "authority.db-shm": "600",
            "authority.db-wal": "600",
          })
          yield* Sqlite.backup(file, `${file}.backup`)
          assert.strictEqual(modes(dirname(file))["authority.db.backup"], "600")
          assert.strictEqual(process.umask(), umask)
        }),
    )
  }

  it.scoped("a SQLite database file keeps the permissions that an operator has set", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      yield* Effect.provide(newAccountWith(1), sqliteFile(file))
      chmodSync(file, 0o640)
      yield* Layer.build(sqliteFile(file))
      assert.deepStrictEqual(modes(dirname(file)), {
        "authority.db": "640",
        "authority.db-shm": "640",
        "authority.db-wal": "640",
      })
    }),
  )
})

describe("two processes on one SQLite file", () => {
  // A process really waits while the other one has the lock.
  it.scopedLive(
    "two processes on one SQLite file together never hold more credits than the account has",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        const one = yield* Layer.build(sqliteFile(file))
        const other = yield* Layer.build(sqliteFile(file))
        const account = yield* Effect.provide(newAccountWith(20), one)
        const outcomes = yield* Effect.forEach(
          Array(40).keys(),
          (i) => Effect.either(Effect.provide(hold(account, 1), i % 2 === 0 ? one : other)),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(outcomes.filter(Either.isRight).length, 20)
        const { available, held } = yield* Effect.provide(figures(account), other)
        assert.deepStrictEqual([held, available], [20, 0])
        assert.deepStrictEqual(yield* Effect.provide(problemsOf(account), one), [])
      }),
  )
})

describe("a SQLite connection", () => {
  it.scoped("a SQLite connection uses WAL, full synchronous commits and foreign keys", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [journal] = yield* sql`PRAGMA journal_mode`
      const [synchronous] = yield* sql`PRAGMA synchronous`
      const [foreignKeys] = yield* sql`PRAGMA foreign_keys`
      assert.deepStrictEqual(
        { ...journal, ...synchronous, ...foreignKeys },
        { journalMode: "wal", synchronous: 2, foreignKeys: 1 },
      )
    }).pipe(Effect.provide(Layer.unwrapScoped(Effect.map(newFile, Sqlite.layer)))),
  )
})

describe("the WAL of a SQLite file", () => {
  it.scoped("the WAL of a SQLite file shrinks again after a long reader has ended", () =>
    Effect.gen(function* () {
      const file = yield* newFile
      const open = Effect.map(Layer.build(Sqlite.layer(file)), (context) =>
        Context.get(context, SqlClient.SqlClient),
      )
      const [writer, reader] = [yield* open, yield* open]
      const walBytes = () => statSync(`${file}-wal`).size
      const write = writer.withTransaction(writer`INSERT INTO rows VALUES (zeroblob(4000000))`)
      yield* writer`CREATE TABLE rows (content BLOB)`
      yield* Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* reader.reserve
          const run = (text: string) => connection.execute(text, [], undefined)
          yield* run("BEGIN")
          yield* run("SELECT * FROM rows")
          yield* Effect.replicateEffect(write, 6)
          assert.isAbove(walBytes(), 20_000_000)
          yield* run("COMMIT")
        }),
      )
      yield* Effect.replicateEffect(write, 2)
      assert.isAtMost(walBytes(), 8 * 1024 * 1024)
    }),
  )
})

describe("a backup of a SQLite file", () => {
  it.scoped(
    "if the copy that a backup has made is damaged, the backup deletes the copy and fails with a message that says what to do",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const file = join(folder, "authority.db")
        yield* Layer.build(sqliteFile(file))
        // The copy contains the same damage: a row that violates a constraint of its table.
        const damaging = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE t (n INTEGER CHECK (n > 0))`
          yield* sql`PRAGMA ignore_check_constraints = ON`
          yield* sql`INSERT INTO t VALUES (0)`
        })
        yield* Effect.provide(damaging, Sqlite.layer(file))
        const copy = join(folder, "copy.db")
        const error = yield* Effect.flip(Sqlite.backup(file, copy))
        assert.strictEqual(
          error.message,
          `the copy ${copy} failed: the file is damaged: CHECK constraint failed in t`,
        )
        assert.notInclude(readdirSync(folder), "copy.db")
      }),
  )
})

describe("a ledger whose SQLite database breaks", () => {
  // Windows does not delete a file that is open.
  it.scoped.skipIf(process.platform === "win32")(
    "the state of the stores says that the SQLite file was deleted, although commits succeed",
    () =>
      Effect.gen(function* () {
        const file = yield* newFile
        yield* Effect.gen(function* () {
          const { stores } = yield* Health.Health
          assert.isUndefined((yield* stores).trouble)
          rmSync(file)
          yield* newAccountWith(10)
          assert.match(String((yield* stores).trouble), /^the database's file was deleted/)
        }).pipe(Effect.provide(Layer.provideMerge(Health.layer, sqliteFile(file))))
      }),
  )

  it.scoped("a commit that fails halfway charges nothing, and its hold can be settled later", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const account = yield* newAccountWith(10)
      const held = yield* hold(account, 4)
      yield* sql`
        CREATE TRIGGER disk_full BEFORE UPDATE ON balances
        BEGIN SELECT RAISE(ABORT, 'disk full'); END`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(settle(held, 4))))
      yield* sql`DROP TRIGGER disk_full`
      const { charged, held: open } = yield* figures(account)
      assert.deepStrictEqual([charged, open], [0, 4])
      assert.deepStrictEqual(yield* problemsOf(account), [])
      yield* settle(held, 4)
      assert.strictEqual((yield* figures(account)).charged, 4)
    }).pipe(Effect.provide(Layer.unwrapScoped(Effect.map(newFile, sqliteFile)))),
  )
})
