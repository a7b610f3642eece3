/** Restores a backup: replaces an SQLite file by a verified copy of the backup, or changes nothing. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import { StoreFailure } from "./StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { sync } from "./Sqlite.ts"

/** The result of `verify`, and the new name of the replaced database; undefined if there was none. */
export interface Restored<A> {
  readonly verified: A
  readonly former: string | undefined
}

/**
 * Copies `source` with its WAL, runs `verify` on the copy, and puts the copy in the place of
 * `database`. Fails with StoreFailure while another connection, even an idle one, has `database`
 * open.
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

/** Returns the folders with the copies of restores that were killed, or that still run. */
export const leftBy = (database: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.try(() => readdirSync(dirname(database))).pipe(
    Effect.map((names) => names.map((name) => join(dirname(database), name))),
    Effect.map((paths) => paths.filter((path) => path.startsWith(prefixOf(database)))),
    Effect.orElseSucceed(() => []),
  )

/** Locks the file until the scope closes, and merges its WAL into it. */
const lock = (filename: string) =>
  Effect.gen(function* () {
    // `disableWAL` only means that the client does not set the journal mode of the file.
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    yield* sql`PRAGMA busy_timeout = 500`
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    // Fails while another connection has the file open in WAL mode, as the service does.
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

// Keeps the database by a second name, then renames `copy` over it, so that there is a database at
// every moment. Must not open the database: closing a file ends the process's locks on it.
const swap = (copy: string, database: string): string | undefined => {
  const former = `${database}.replaced-${new Date().toISOString().replaceAll(":", "-")}`
  const stats = statSync(database, { throwIfNoEntry: false })
  const { gid, uid } = stats ?? statSync(dirname(database))
  // Without a database to replace, only root gives the copy away, to the owner of the folder.
  if (stats !== undefined || process.getuid?.() === 0) chownSync(copy, uid, gid)
  if (stats !== undefined) chmodSync(copy, stats.mode & 0o777)
  sync(copy)
  if (stats !== undefined) linkSync(database, former)
  for (const part of ["-wal", "-journal", "-shm"]) {
    // The WAL of a damaged database could not be merged. It may have the only copy of a charge.
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
