/**
 * The SQL client for SQLite, a database in one file on one machine. Also backs up the file, checks
 * it for damage, and restores a backup: it either replaces the file by a verified copy or changes
 * nothing.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { StoreFailure } from "./StoreFailure.ts"
import * as Failure from "./Failure.ts"
import * as Migrations from "./migrations/migrate.ts"
import { naming } from "./rows/dialects.ts"
import * as Presence from "./Presence.ts"
import * as transaction from "./transaction.ts"

/**
 * Opens the file, or creates it. The content of `:memory:` is lost when the scope closes. If
 * `content` is "ours", never creates a file, and fails with NoDatabase if it is missing. Changes
 * nothing in a file with other content.
 */
export const layer = (
  filename: string,
  { content = "anything" }: { readonly content?: Presence.Content } = {},
): Layer.Layer<SqlClient.SqlClient, StoreFailure | Presence.NoDatabase> =>
  Layer.scoped(SqlClient.SqlClient, make(filename, content)).pipe(Layer.provide(Reactivity.layer))

/**
 * Copies a database, even while it is in use. Fails with StoreFailure when `destination` exists or
 * the copy is damaged. Deletes a failed copy.
 */
export const backup = (
  source: string,
  destination: string,
): Effect.Effect<void, StoreFailure | Presence.NoDatabase> =>
  Effect.gen(function* () {
    const path = Presence.pathOf(source)
    if (!existsSync(path)) return yield* new Presence.NoDatabase({ place: path })
    const from = yield* SqliteClient.make({ filename: source, readonly: true, disableWAL: true })
    yield* Effect.provideService(Presence.examine(path, "ours"), SqlClient.SqlClient, from)
    yield* Effect.provideService(Migrations.required, SqlClient.SqlClient, from)
    // VACUUM INTO accepts an empty file.
    yield* privately(
      attempt(`${destination} cannot be written`, () => closeSync(openSync(destination, "wx"))),
    )
    // VACUUM INTO copies one snapshot, but does not sync the copy to disk. SQLite's backup API
    // would copy page by page and start over after every write to the database.
    yield* privately(from`VACUUM INTO ${destination}`).pipe(
      Effect.zipRight(Effect.sync(() => sync(destination))),
      Effect.zipRight(examine(destination)),
      Effect.mapError(
        (error) =>
          new StoreFailure({
            message: `the copy ${destination} failed: ${Failure.describe(error).message}`,
          }),
      ),
      Effect.onError(() => remove(destination)),
    )
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), failing)

/** Deletes the database file with its WAL and shm files, as far as they exist. */
export const remove = (filename: string): Effect.Effect<void> =>
  Effect.sync(() =>
    ["", "-wal", "-shm"].forEach((part) => rmSync(filename + part, { force: true })),
  )

/** Reads every page of the file and its WAL. Fails with StoreFailure when one is damaged. */
export const examine = (filename: string): Effect.Effect<void, StoreFailure> =>
  Effect.gen(function* () {
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    const [check] = yield* sql<{ integrity_check: string }>`PRAGMA integrity_check`
    if (check?.integrity_check !== "ok") {
      return yield* new StoreFailure({ message: `the file is damaged: ${check?.integrity_check}` })
    }
  }).pipe(
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.catchAllDefect(Effect.fail),
    Effect.mapError(Failure.describe),
  )

/** Syncs a file or a folder to disk. For a folder, `flags` must be "r". */
const sync = (path: string, flags: "r" | "r+" = "r+") => {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

// Gives only the owner access to the files and folders that `creating` creates. SQLite later gives
// its WAL and shm files the same mode as the database. Does not restrict access in a worker thread,
// which cannot set the umask.
const privately = <A, E, R>(creating: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.option(Effect.try(() => process.umask(0o077))),
    () => creating,
    (umask) => Effect.sync(() => Option.map(umask, (mask) => process.umask(mask))),
  )

const make = Effect.fnUntraced(
  function* (filename: string, content: Presence.Content) {
    const path = Presence.pathOf(filename)
    const before = inodeOf(path)
    if (content === "ours" && before === undefined) {
      return yield* new Presence.NoDatabase({ place: path })
    }
    const opening = SqliteClient.make({ filename, disableWAL: true, ...naming })
    const sql = yield* before === undefined ? privately(opening) : opening
    // Setting the journal mode writes to the file, so check its content first.
    yield* Effect.provideService(Presence.examine(path, content), SqlClient.SqlClient, sql)
    yield* sql`PRAGMA journal_mode = WAL`
    // If a restore replaced the file while this statement waited for the lock, the connection still
    // has the old file open.
    if (before !== undefined && inodeOf(path) !== before) {
      return yield* new StoreFailure({
        message: `${path} was replaced while it was opened; try again`,
      })
    }
    // With better-sqlite3's default, a power failure could lose the last commits of the ledger.
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`PRAGMA foreign_keys = ON`
    // 4,000 KiB (a negative number means KiB) is a quarter of better-sqlite3's default, and enough
    // for the frequently used pages.
    yield* sql`PRAGMA cache_size = -4000`
    // Keeps SQLite's statement journal in memory. Otherwise a journal above 64 KiB becomes a
    // temporary file, which nearly every commit of 16 or more requests would create and delete.
    yield* sql`PRAGMA temp_store = MEMORY`
    // The WAL grows while a reader holds an old snapshot. The next commit that starts the WAL anew
    // shrinks it to this size.
    yield* sql`PRAGMA journal_size_limit = ${sql.literal(String(walBytes))}`
    // better-sqlite3 blocks the event loop while it waits for a lock, so it waits only 50 ms, and
    // `waitForLock` retries.
    yield* sql`PRAGMA busy_timeout = 50`
    return Object.assign(sql, { withTransaction: immediateTransaction(sql) })
  },
  (opening) => failing(opening),
)

/** Twice the size at which SQLite copies the WAL into the database. */
const walBytes = 8 * 1024 * 1024

const inodeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino

// Turns every error except NoDatabase into StoreFailure. Also catches defects, because the client
// dies when it cannot open the file.
const failing = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  effect.pipe(
    Effect.catchAllDefect(Effect.fail),
    Effect.mapError((error) =>
      error instanceof Presence.NoDatabase ? error : Failure.describe(error),
    ),
  )

// Takes the write lock at the start: a transaction that reads first and then writes would fail when
// another process writes in between. Rolls back after a failed COMMIT, because SQLite then leaves
// the transaction open.
const immediateTransaction = (sql: SqlClient.SqlClient): SqlClient.SqlClient["withTransaction"] => {
  const withTransaction = transaction.make(sql, "BEGIN IMMEDIATE", (connection, statement) =>
    // `suspend` turns an exception of `execute` into a defect, so that the transaction releases its
    // connection.
    Effect.suspend(() => connection.execute(statement, [], undefined)),
  )
  // Retry outside of the transaction, so that readers can use the connection between attempts.
  return (effect) =>
    Effect.catchIf(withTransaction(effect), Failure.isBusy, () =>
      Effect.retry(withTransaction(effect), { while: Failure.isBusy, schedule: waitForLock }),
    )
}

const waitForLock = Schedule.spaced("10 millis").pipe(Schedule.upTo("5 seconds"))

/** The result of `verify`, and the new name of the replaced database, if there was one. */
export interface Restored<A> {
  readonly verified: A
  readonly former: string | undefined
}

/**
 * Copies `source` with its WAL, runs `verify` on the copy, and replaces `database` by the copy.
 * Fails with StoreFailure while another connection, even an idle one, has `database` open.
 */
export const restore = <A, E, R>(
  source: string,
  database: string,
  verify: (copy: string) => Effect.Effect<A, E, R>,
): Effect.Effect<Restored<A>, E | StoreFailure, R> =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      attempt(`the folder ${dirname(database)} cannot be written`, () =>
        mkdtempSync(prefixOf(database)),
      ),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
    )
    const copy = join(folder, basename(database))
    yield* attempt(`${source} cannot be copied`, () => {
      for (const part of ["", "-wal", "-journal"]) {
        if (part === "" || existsSync(source + part)) copyFileSync(source + part, copy + part)
      }
      chmodSync(copy, 0o600)
    })
    const verified = yield* verify(copy)
    yield* Effect.scoped(Effect.mapError(lock(copy), Failure.describe))
    if (existsSync(database)) {
      // Windows cannot rename an open file, so there the lock ends just before the rename.
      const locked = lockUnlessDamaged(database)
      yield* process.platform === "win32" ? Effect.scoped(locked) : locked
    }
    return {
      verified,
      former: yield* attempt(`${database} cannot be replaced`, () => swap(copy, database)),
    }
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))

const prefixOf = (database: string) => `${database}.restoring-`

/** Returns the folders with copies of restores that were killed or are still running. */
export const leftBy = (database: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.try(() => readdirSync(dirname(database))).pipe(
    Effect.map((names) => names.map((name) => join(dirname(database), name))),
    Effect.map((paths) => paths.filter((path) => path.startsWith(prefixOf(database)))),
    Effect.orElseSucceed(() => []),
  )

/** Locks the file until the scope closes, and merges its WAL into it. */
const lock = (filename: string) =>
  Effect.gen(function* () {
    // `disableWAL` only keeps the client from setting the journal mode of the file.
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    yield* sql`PRAGMA busy_timeout = 500`
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    // Fails while another connection, such as the service's, has the file open in WAL mode.
    yield* sql`PRAGMA journal_mode = TRUNCATE`
    yield* sql`BEGIN EXCLUSIVE`
    yield* sql`COMMIT`
  }).pipe(Effect.catchAllDefect(Effect.fail))

const lockUnlessDamaged = (database: string) =>
  lock(database).pipe(
    Effect.catchIf(Failure.isDamage, () => Effect.void),
    Effect.mapError((error) =>
      Failure.isBusy(error)
        ? new StoreFailure({
            message: `${database} is in use; stop the service and every other program that has the database open`,
          })
        : Failure.describe(error),
    ),
  )

// Hard-links the database under a second name, then renames `copy` over it, so that a database
// exists at every moment. Must not open the database: closing any descriptor of a file drops the
// process's locks on it.
const swap = (copy: string, database: string): string | undefined => {
  const former = `${database}.replaced-${new Date().toISOString().replaceAll(":", "-")}`
  const stats = statSync(database, { throwIfNoEntry: false })
  const { gid, uid } = stats ?? statSync(dirname(database))
  // If no database is replaced, only root can give the copy to the owner of the folder.
  if (stats !== undefined || process.getuid?.() === 0) chownSync(copy, uid, gid)
  if (stats !== undefined) chmodSync(copy, stats.mode & 0o777)
  sync(copy)
  if (stats !== undefined) linkSync(database, former)
  for (const part of ["-wal", "-journal", "-shm"]) {
    // The WAL of a damaged database could not be merged, and may contain the only copy of a charge.
    const hasData = (statSync(database + part, { throwIfNoEntry: false })?.size ?? 0) > 0
    if (hasData && part !== "-shm") renameSync(database + part, former + part)
    else rmSync(database + part, { force: true })
  }
  renameSync(copy, database)
  // Windows cannot open a folder.
  if (process.platform !== "win32") sync(dirname(database), "r")
  return stats && former
}

const attempt = <A>(problem: string, act: () => A): Effect.Effect<A, StoreFailure> =>
  Effect.try({
    try: act,
    catch: (cause) => new StoreFailure({ message: `${problem}: ${Failure.ofFile(cause)}`, cause }),
  })
