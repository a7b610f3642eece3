/**
 * `authority restore` replaces the database with a backup completely, or changes nothing. The service
 * that uses the database is a process of its own.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { basename, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  exited,
  folder,
  openAccount,
  run,
  serve,
  start,
  statement,
  verify,
} from "../support/Program.ts"
import { document, verb } from "../support/Verb.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const charge = (url: string, key: string, host: string) =>
  Effect.map(request(url, batch(key, JSON.stringify({ urls: [host] }))), ({ status }) =>
    assert.strictEqual(status, 200),
  )

const on = (file: string) => ({ AUTHORITY_DATABASE_URL: `sqlite:${file}` })

/** Returns the names in a folder with the bytes of each file. */
const contentOf = (cwd: string) =>
  new Map(
    readdirSync(cwd).map((name) => {
      const path = join(cwd, name)
      return [name, statSync(path).isFile() ? readFileSync(path).toString("base64") : "a folder"]
    }),
  )

/**
 * A killed service with a WAL. The backup `copy.db` has its first charge, but not the second one.
 */
const killed = Effect.gen(function* () {
  const cwd = yield* folder
  const { key } = yield* openAccount(cwd, 100)
  const service = yield* serve(cwd)
  yield* charge(service.url, key, "a.example.com")
  yield* document(cwd, "backup", "copy.db")
  const atBackup = yield* statement(cwd)
  yield* charge(service.url, key, "b.example.com")
  const atEnd = yield* statement(cwd)
  service.signal("SIGKILL")
  yield* exited(service)
  assert.isAbove(statSync(join(cwd, "authority.db-wal")).size, 0)
  assert.strictEqual(atEnd.length, atBackup.length + 1)
  return { cwd, key, atBackup, atEnd }
})

describe("authority restore", () => {
  it.scopedLive(
    "restore replaces a killed service's database with the backup, and keeps the old database file",
    () =>
      Effect.gen(function* () {
        const { atBackup, atEnd, cwd, key } = yield* killed
        chmodSync(join(cwd, "authority.db"), 0o640)
        const backup = readFileSync(join(cwd, "copy.db"))
        const report = yield* document(cwd, "restore", "copy.db")
        const database = join(cwd, "authority.db")
        assert.deepInclude(report, {
          file: join(cwd, "copy.db"),
          database,
          former: report.former,
          accounts: 1,
          entries: 2,
        })
        assert.isTrue(String(report.former).startsWith(`${database}.replaced-`))
        assert.deepStrictEqual(readFileSync(join(cwd, "copy.db")), backup)
        assert.sameMembers(
          readdirSync(cwd).map((name) => join(cwd, name)),
          [database, report.former, join(cwd, "copy.db")],
        )
        assert.strictEqual(statSync(database).mode & 0o777, 0o640)

        assert.deepStrictEqual(yield* statement(cwd), atBackup)
        assert.deepStrictEqual((yield* verify(cwd)).problems, [])
        const former = basename(report.former)
        const verified = yield* verify(cwd, former)
        assert.deepStrictEqual(verified, { accounts: 1, entries: 3, problems: [] })
        assert.deepStrictEqual(yield* statement(cwd, former), atEnd)

        const { url } = yield* serve(cwd)
        yield* charge(url, key, "c.example.com")
      }),
  )

  it.scopedLive("restore refuses a database that is open, and the service using it continues", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const { key } = yield* openAccount(cwd, 1000)
      yield* document(cwd, "backup", "copy.db")
      const service = yield* serve(cwd)
      const { url } = service
      const refused = Effect.gen(function* () {
        const { code, stderr, stdout } = yield* run(cwd, ["restore", "copy.db"])
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, /^authority: \/.+\/authority\.db is in use; stop the service.+\n$/)
      })
      // The restore is refused even before the service gets its first request.
      yield* refused
      yield* charge(url, key, "a.example.com")
      yield* refused
      yield* Effect.raceFirst(refused, Effect.forever(charge(url, key, "busy.example.com")))
      yield* charge(url, key, "b.example.com")
      assert.deepStrictEqual((yield* verify(cwd)).problems, [])

      service.signal("SIGTERM")
      yield* exited(service)
      const reader = new DatabaseSync(join(cwd, "authority.db"), { readOnly: true })
      reader.prepare("SELECT count(*) FROM entries").get()
      yield* refused
      reader.close()
      assert.sameMembers(
        readdirSync(cwd).filter((name) => !/-(wal|shm)$/.test(name)),
        ["authority.db", "copy.db"],
      )
    }),
  )

  it.scopedLive("restore creates a missing database from a backup, and prints a report", () =>
    Effect.gen(function* () {
      const { atBackup, cwd } = yield* killed
      const database = join(cwd, "new.db")
      // A killed restore has left its copy behind.
      const left = `${database}.restoring-aB3xYz`
      mkdirSync(left)
      // A deleted database has left its WAL behind.
      copyFileSync(join(cwd, "authority.db-wal"), `${database}-wal`)
      const { code, stderr, stdout } = yield* verb(cwd, ["restore", "copy.db"], on("new.db"))
      const named = `authority: ${left} is the copy of a restore that has not ended; delete it, unless that restore still runs\n`
      assert.deepStrictEqual([code, stderr], [0, named])
      assert.include(
        stdout,
        `Restored ${database} from ${join(cwd, "copy.db")}; 1 account and 2 entries were verified.`,
      )
      assert.strictEqual(statSync(database).mode & 0o777, 0o600)
      assert.isFalse(existsSync(`${database}-wal`))
      assert.deepStrictEqual(yield* statement(cwd, "new.db"), atBackup)
    }),
  )

  it.scopedLive.skipIf(process.getuid?.() !== 0)(
    "a database that root restores into the service's folder belongs to the owner of the folder, also where there was none",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        yield* openAccount(cwd, 100)
        yield* document(cwd, "backup", "copy.db")
        mkdirSync(join(cwd, "state"))
        chownSync(join(cwd, "state"), 61_184, 61_185)
        const { code } = yield* verb(cwd, ["restore", "copy.db"], on("state/new.db"))
        assert.strictEqual(code, 0)
        const { gid, uid } = statSync(join(cwd, "state/new.db"))
        assert.deepStrictEqual([uid, gid], [61_184, 61_185])
      }),
  )

  it.scopedLive("restore reads a backup file together with its WAL, and changes neither", () =>
    Effect.gen(function* () {
      const { atEnd, cwd } = yield* killed
      const before = contentOf(cwd)
      const { code } = yield* verb(cwd, ["restore", "authority.db"], on("new.db"))
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(yield* statement(cwd, "new.db"), atEnd)
      const after = contentOf(cwd)
      assert.isTrue(after.delete("new.db"))
      assert.deepStrictEqual(after, before)
    }),
  )

  it.scopedLive(
    "restore replaces a damaged database that is not open, and keeps the damaged file with its WAL",
    () =>
      Effect.gen(function* () {
        const { atBackup, cwd, key } = yield* killed
        const service = yield* serve(cwd)
        yield* charge(service.url, key, "c.example.com")
        damage(join(cwd, "authority.db"), 0)
        const refused = yield* verb(cwd, ["restore", "copy.db"])
        assert.match(refused.stderr, /is in use; stop the service/)
        service.signal("SIGKILL")
        yield* exited(service)

        const before = contentOf(cwd)
        const { former } = yield* document(cwd, "restore", "copy.db")
        assert.deepStrictEqual(yield* statement(cwd), atBackup)
        for (const part of ["", "-wal"]) {
          const kept = readFileSync(former + part).toString("base64")
          assert.strictEqual(kept, before.get(`authority.db${part}`))
        }
      }),
  )
})

describe("a program that waits for the lock of a restore", () => {
  it.scopedLive(
    "a CLI verb that waits for a restore's lock fails when the database file was replaced",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        yield* openAccount(cwd, 100)
        yield* document(cwd, "backup", "copy.db")
        const database = join(cwd, "authority.db")
        const restoring = new DatabaseSync(database)
        restoring.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")

        const waiting = yield* start(cwd, ["account", "list"])
        const descriptors = `/proc/${waiting.pid}/fd`
        yield* eventually("the program opens the database", () =>
          readdirSync(descriptors).some((name) => {
            const link = Effect.runSync(
              Effect.option(Effect.try(() => readlinkSync(join(descriptors, name)))),
            )
            return Option.contains(link, database)
          }),
        )
        renameSync(join(cwd, "copy.db"), database)
        restoring.close()
        assert.strictEqual(yield* exited(waiting), 1)
        assert.match(waiting.stderr(), /authority\.db was replaced while it was opened; try again/)
        assert.strictEqual((yield* verb(cwd, ["account", "list"])).code, 0)
      }),
  )
})

describe("restoring from an unusable file", () => {
  const changed = (cwd: string, file: string, statements: string) => {
    copyFileSync(join(cwd, "copy.db"), file)
    const database = new DatabaseSync(file)
    database.exec(`PRAGMA journal_mode = DELETE; ${statements}`)
    database.close()
  }

  const mistakes: ReadonlyArray<
    readonly [message: RegExp, make: (cwd: string, file: string) => void]
  > = [
    [/file\.db cannot be copied: there is no such file or folder; check the path/, () => {}],
    [/\/file\.db'/, (_, file) => mkdirSync(file)],
    [/is not an SQLite database/, (_, file) => writeFileSync(file, "My memoirs. ".repeat(1000))],
    [/no tables of authority-metrics/, (_, file) => writeFileSync(file, "")],
    [
      /damaged/,
      (cwd, file) => {
        copyFileSync(join(cwd, "copy.db"), file)
        damage(file, statSync(file).size - 8192)
      },
    ],
    [
      /the ledger in this file has errors/,
      (cwd, file) => changed(cwd, file, "UPDATE entries SET amount = amount + 1"),
    ],
    [
      /newer version \(schema 999\).*update the program/,
      (cwd, file) =>
        changed(
          cwd,
          file,
          "INSERT INTO effect_sql_migrations (migration_id, name) VALUES (999, 'future')",
        ),
    ],
    [/is the database itself/, (cwd, file) => symlinkSync(join(cwd, "authority.db"), file)],
  ]

  it.scopedLive(
    "restore refuses an unusable file, such as a missing or damaged backup, and changes nothing",
    () =>
      Effect.gen(function* () {
        const { atEnd, cwd } = yield* killed
        const file = join(cwd, "file.db")
        for (const [message, make] of mistakes) {
          make(cwd, file)
          const before = contentOf(cwd)
          const { code, stderr, stdout } = yield* verb(cwd, ["restore", file])
          assert.deepStrictEqual([code, stdout], [1, ""])
          assert.match(stderr, /^authority: [^\n]*\/file\.db[^\n]*\n$/)
          assert.match(stderr, message)
          assert.deepStrictEqual(contentOf(cwd), before)
          rmSync(file, { recursive: true, force: true })
        }
        assert.deepStrictEqual(yield* statement(cwd), atEnd)
      }),
  )
})

/** Overwrites one page of the file. */
const damage = (file: string, at: number) => {
  const descriptor = openSync(file, "r+")
  writeSync(descriptor, Buffer.alloc(4096, 0x5a), 0, 4096, at)
  closeSync(descriptor)
}
