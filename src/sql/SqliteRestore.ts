/** Restores a backup: replaces an SQLite file by a copy of the backup, completely or not at all. */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { copyFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { sync } from "./Sqlite.ts"

/**
 * Copies the file and its WAL to a private folder beside `database`, and returns the copy's path.
 * Closing the scope deletes the folder. Fails with StoreFailure when the file changes meanwhile.
 */
export const copied = (
  file: string,
  database: string,
): Effect.Effect<string, StoreFailure, Scope.Scope> =>
  Effect.gen(function* () {
    if (!existsSync(dirname(database))) {
      return yield* new StoreFailure({
        message: `the folder of ${database} does not exist; check AUTHORITY_DATABASE_URL`,
      })
    }
    const folder = yield* Effect.acquireRelease(
      attempt(() => mkdtempSync(`${database}.restoring-`)),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
    )
    const copy = join(folder, basename(database))
    const before = stateOf(file)
    for (const part of parts.filter((part) => existsSync(file + part))) {
      yield* Effect.tryPromise({
        try: () => copyFile(file + part, copy + part, constants.COPYFILE_FICLONE),
        catch: failure,
      })
      yield* attempt(() => chmodSync(copy + part, 0o600))
    }
    if (stateOf(file) !== before) {
      return yield* new StoreFailure({
        message: `${file} changed while it was copied; stop the program that writes to the file, or copy the file with "authority backup"`,
      })
    }
    return copy
  })

/**
 * Renames `copy` to `database`. Keeps the former database and returns its new name, or undefined if
 * there was no database. Fails with StoreFailure and changes nothing while another connection, even
 * an idle one, has the database open.
 */
export const replace = (
  copy: string,
  database: string,
): Effect.Effect<string | undefined, StoreFailure> =>
  Effect.gen(function* () {
    yield* Effect.scoped(lock(copy))
    if (sizeOf(`${copy}-wal`) > 0) {
      return yield* new StoreFailure({
        message: `the WAL of the backup could not be merged into the backup, and ${database} is unchanged; make a new backup with 'authority backup' and restore the new backup`,
      })
    }
    if (existsSync(database)) {
      yield* attempt(() => accessSync(database, constants.R_OK | constants.W_OK))
      const locked = lock(database).pipe(
        Effect.catchIf(Failure.isDamage, () => Effect.void),
        Effect.mapError((error) =>
          Failure.isBusy(error) ? new StoreFailure({ message: inUse(database) }) : error,
        ),
      )
      // Windows cannot rename an open file, so there the lock ends just before the rename.
      yield* process.platform === "win32" ? Effect.scoped(locked) : locked
      yield* attempt(() => takeOwner(copy, database))
    }
    return yield* attempt(() => {
      sync(copy)
      // Sync the folder before the change too: if the sync fails, nothing has changed yet.
      syncFolder(dirname(database))
      const former = swap(copy, database)
      syncFolder(dirname(database))
      return former
    })
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) => (error instanceof StoreFailure ? error : failure(error))),
    Effect.provide(Reactivity.layer),
  )

const inUse = (database: string) =>
  `${database} is in use; stop the service and every other program that has the database open`

/**
 * The file name suffixes of the database, its WAL and its rollback journal. After a crash, a WAL or
 * a journal may still exist.
 */
const parts = ["", "-wal", "-journal"]

/**
 * Locks the file until the scope closes, and merges its WAL into it. If the file is in WAL mode,
 * fails with SQLITE_BUSY while another connection, even an idle one, has it open: in that mode,
 * every open connection holds a lock on the file.
 */
const lock = (filename: string) =>
  Effect.gen(function* () {
    // `disableWAL` only means that the client does not set the journal mode of the file.
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    yield* sql`PRAGMA busy_timeout = 500`
    // Set this mode before the first read: in this mode, SQLite keeps its lock even when the file
    // is damaged and the read fails.
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    yield* sql`BEGIN EXCLUSIVE`
    yield* sql`COMMIT`
    yield* sql`PRAGMA wal_checkpoint(TRUNCATE)`
  }).pipe(Effect.catchAllDefect(Effect.fail))

/** Gives the copy the owner, the group and the mode of the former database. */
const takeOwner = (copy: string, database: string) => {
  const former = statSync(database)
  const { gid, uid } = statSync(copy)
  if (former.uid !== uid || former.gid !== gid) chownSync(copy, former.uid, former.gid)
  chmodSync(copy, former.mode & 0o777)
}

/**
 * Puts `copy` in the place of `database`. Returns the former database's new name, or undefined if
 * there was no database. When a step fails, undoes the steps before it. Does not open the former
 * database: when a process closes a file, the process loses its POSIX locks on the file.
 */
const swap = (copy: string, database: string): string | undefined => {
  const former = `${database}.replaced-${new Date().toISOString().replaceAll(":", "-")}`
  const undo: Array<() => void> = []
  const move = (from: string, to: string) => {
    renameSync(from, to)
    undo.push(() => renameSync(to, from))
  }
  try {
    // A WAL or a journal that is not empty holds data that SQLite could not merge into the
    // database, because the database is damaged or missing. Keep the file: its data may exist
    // nowhere else.
    for (const part of ["-wal", "-journal"]) {
      if (sizeOf(database + part) > 0) move(database + part, former + part)
      else rmSync(database + part, { force: true })
    }
    rmSync(`${database}-shm`, { force: true })
    const isThere = existsSync(database)
    if (isThere) {
      // A hard link gives the former database the second name `former`. So the name `database`
      // exists at every moment: the rename of `copy` replaces the former database in one step.
      try {
        linkSync(database, former)
        undo.push(() => rmSync(former))
      } catch {
        // The file system has no hard links.
        move(database, former)
      }
    }
    renameSync(copy, database)
    return isThere ? former : undefined
  } catch (error) {
    for (const step of undo.reverse()) step()
    throw error
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** The state of the file, its WAL and its journal. It changes with every write to one of them. */
const stateOf = (file: string) =>
  parts
    .map((part) => statSync(file + part, { throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? "none" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`))
    .join()

/** Syncs a folder to disk, except on Windows, which cannot open a folder. */
const syncFolder = (path: string) => {
  if (process.platform !== "win32") sync(path, "r")
}

const attempt = <A>(act: () => A): Effect.Effect<A, StoreFailure> =>
  Effect.try({ try: act, catch: failure })

const failure = (error: unknown): StoreFailure => {
  const known = advice.get(Failure.codeOf(error))
  return known === undefined
    ? Failure.describe(error)
    : new StoreFailure({ message: `${known} (${Failure.wordsOf(error)})`, cause: error })
}

const noPermission = "no permission; run 'authority restore' as the owner of the database"

const advice = new Map([
  ["EACCES", noPermission],
  ["EPERM", noPermission],
  ["EROFS", "the disk of the database is read-only; make it writable"],
])
