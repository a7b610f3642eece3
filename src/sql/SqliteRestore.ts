/** Puts a copy of one SQLite file in the place of another, whole or not at all. */
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { copyFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"

/** Copies the file and its WAL to a private folder beside `database`, which goes with the scope. */
export const copied = (
  file: string,
  database: string,
): Effect.Effect<string, StoreFailure, Scope.Scope> =>
  Effect.gen(function* () {
    if (!existsSync(dirname(database))) {
      return yield* new StoreFailure({
        message: `the folder of ${database} does not exist: check AUTHORITY_DATABASE_URL`,
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
        message: `${file} changed while it was copied: stop the program that writes to it, or copy it with "authority backup"`,
      })
    }
    return copy
  })

/**
 * Renames `copy` to `database`. Keeps what was there under the name that it returns. Fails, and
 * changes nothing, while another connection is open on the database, even an idle one.
 */
export const replace = (
  copy: string,
  database: string,
): Effect.Effect<string | undefined, StoreFailure> =>
  Effect.gen(function* () {
    yield* Effect.scoped(lock(copy))
    if (sizeOf(`${copy}-wal`) > 0) {
      return yield* new StoreFailure({ message: `${copy}-wal could not be written into its file` })
    }
    if (existsSync(database)) {
      yield* attempt(() => accessSync(database, constants.R_OK | constants.W_OK))
      const locked = lock(database).pipe(
        Effect.catchIf(Failure.isDamage, () => Effect.void),
        Effect.mapError((error) =>
          Failure.isBusy(error) ? new StoreFailure({ message: inUse(database) }) : error,
        ),
      )
      // Windows does not rename what is open: there the lock ends a moment before.
      yield* process.platform === "win32" ? Effect.scoped(locked) : locked
      yield* attempt(() => takeOwner(copy, database))
    }
    return yield* attempt(() => {
      sync(copy, "r+")
      // Also before, so that a folder that cannot be synced fails while nothing is changed.
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
  `${database} is in use: stop the service, and every other program that has it open`

/** The database, what a crash may have left to add to it, and what it may have left to take back. */
const parts = ["", "-wal", "-journal"]

/**
 * Holds the file alone until the scope ends, and writes its WAL into it. A connection with a WAL
 * locks the file as long as it is open, so this fails as busy beside an idle connection too.
 */
const lock = (filename: string) =>
  Effect.gen(function* () {
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    yield* sql`PRAGMA busy_timeout = 500`
    // Before the first read: SQLite then locks even a file whose content is damaged.
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    yield* sql`BEGIN EXCLUSIVE`
    yield* sql`COMMIT`
    yield* sql`PRAGMA wal_checkpoint(TRUNCATE)`
  }).pipe(Effect.catchAllDefect(Effect.fail))

/** Who could use the former database can use the new one. */
const takeOwner = (copy: string, database: string) => {
  const former = statSync(database)
  const { gid, uid } = statSync(copy)
  if (former.uid !== uid || former.gid !== gid) chownSync(copy, former.uid, former.gid)
  chmodSync(copy, former.mode & 0o777)
}

/**
 * Every step leaves a whole database under the name, and undoes those before it when it fails. No
 * file is opened: to close one would give up the lock.
 */
const swap = (copy: string, database: string): string | undefined => {
  const former = `${database}.replaced-${new Date().toISOString().replaceAll(":", "-")}`
  const undo: Array<() => void> = []
  const move = (from: string, to: string) => {
    renameSync(from, to)
    undo.push(() => renameSync(to, from))
  }
  try {
    // The WAL of a damaged or missing database, which could not be written into it.
    for (const part of ["-wal", "-journal"]) {
      if (sizeOf(database + part) > 0) move(database + part, former + part)
      else rmSync(database + part, { force: true })
    }
    rmSync(`${database}-shm`, { force: true })
    const isThere = existsSync(database)
    if (isThere) {
      try {
        linkSync(database, former)
        undo.push(() => rmSync(former))
      } catch {
        // A file system without links.
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

/** Differs when something was written to the file or its WAL. */
const stateOf = (file: string) =>
  parts
    .map((part) => statSync(file + part, { throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? "none" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`))
    .join()

/** Windows cannot open a folder. */
const syncFolder = (path: string) => {
  if (process.platform !== "win32") sync(path, "r")
}

const sync = (path: string, flags: string) => {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const attempt = <A>(act: () => A): Effect.Effect<A, StoreFailure> =>
  Effect.try({ try: act, catch: failure })

const failure = (error: unknown): StoreFailure => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : ""
  const mend = mends.get(code)
  if (mend === undefined || !(error instanceof Error)) return Failure.describe(error)
  return new StoreFailure({ message: `${mend} (${error.message})`, cause: error })
}

const noPermission = "no permission: run this as the owner of the database"

const mends = new Map([
  ["EACCES", noPermission],
  ["EPERM", noPermission],
  ["EROFS", "the disk of the database is read-only: make it writable"],
])
