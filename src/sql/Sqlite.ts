/** A database in one file, for one machine. */
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync } from "node:fs"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import * as Presence from "./Presence.ts"
import { retry } from "./retry.ts"
import * as transaction from "./transaction.ts"

/**
 * Opens, or creates, the file; `:memory:` keeps nothing. With `mustExist` it creates nothing, and
 * fails with NoDatabase where the file is missing or has none of our tables.
 */
export const layer = (
  filename: string,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Layer.Layer<SqlClient.SqlClient, StoreFailure | Presence.NoDatabase> =>
  Layer.scoped(SqlClient.SqlClient, make(filename, mustExist)).pipe(Layer.provide(Reactivity.layer))

/** Copies the file while others use it; fails when the copy is not whole, and leaves none. */
export const backup = (
  source: string,
  destination: string,
): Effect.Effect<void, StoreFailure | Presence.NoDatabase> =>
  Effect.gen(function* () {
    const path = Presence.pathOf(source)
    if (!existsSync(path)) return yield* new Presence.NoDatabase({ place: path })
    const from = yield* SqliteClient.make({ filename: source, readonly: true, disableWAL: true })
    yield* Presence.required(from, path)
    if (existsSync(destination)) {
      return yield* new StoreFailure({
        message: `${destination} exists already: name another file`,
      })
    }
    // All of it as of one moment; a copy page by page begins anew whenever somebody writes.
    yield* privately(from`VACUUM INTO ${destination}`).pipe(
      Effect.zipRight(Effect.sync(() => syncFile(destination))),
      Effect.zipRight(examine(destination)),
      Effect.onError(() => remove(destination)),
    )
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), failing)

/** Deletes the file, and what SQLite keeps beside it. */
export const remove = (filename: string): Effect.Effect<void> =>
  Effect.sync(() =>
    ["", "-wal", "-shm"].forEach((part) => rmSync(filename + part, { force: true })),
  )

/** Reads every page of the file, with its WAL; fails when it is damaged. */
export const examine = (
  filename: string,
): Effect.Effect<void, StoreFailure | Presence.NoDatabase> =>
  Effect.gen(function* () {
    const sql = yield* SqliteClient.make({ filename, disableWAL: true })
    const [check] = yield* sql<{ integrity_check: string }>`PRAGMA integrity_check`
    if (check?.integrity_check !== "ok") {
      return yield* new StoreFailure({ message: `the file is damaged: ${check?.integrity_check}` })
    }
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), failing)

/** SQLite leaves that to whoever asked for the copy. */
const syncFile = (filename: string) => {
  const descriptor = openSync(filename, "r+")
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/**
 * Only the owner can use what SQLite creates meanwhile, whatever the umask. WAL and shm take the
 * mode of their database. Worker threads cannot change the umask.
 */
const privately = <A, E, R>(creating: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.option(Effect.try(() => process.umask(0o177))),
    () => creating,
    (umask) => Effect.sync(() => Option.map(umask, (mask) => process.umask(mask))),
  )

const make = Effect.fnUntraced(
  function* (filename: string, mustExist: boolean) {
    const path = Presence.pathOf(filename)
    const before = inodeOf(path)
    if (mustExist && before === undefined) return yield* new Presence.NoDatabase({ place: path })
    const opening = SqliteClient.make({ filename, disableWAL: true, ...naming })
    const sql = yield* before === undefined ? privately(opening) : opening
    // The journal mode is written to the file, so first of all the file must be ours.
    if (mustExist) yield* Presence.required(sql, path)
    yield* sql`PRAGMA journal_mode = WAL`
    // The statement may have waited for a restore, and read the file that it replaced.
    if (before !== undefined && inodeOf(path) !== before) {
      return yield* new StoreFailure({
        message: `${path} was replaced while it was opened: try again`,
      })
    }
    // better-sqlite3's default may lose the last commits in a power cut; a ledger must not.
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`PRAGMA foreign_keys = ON`
    // In KiB. The default of better-sqlite3 is four times that; for what is read and written again and
    // again a fraction of it is enough.
    yield* sql`PRAGMA cache_size = -4000`
    // To undo half a statement, SQLite keeps what the pages held, and beyond 64 KiB in a file: from
    // sixteen requests in a commit on, it would make and delete one for nearly each commit.
    yield* sql`PRAGMA temp_store = MEMORY`
    // better-sqlite3 waits without yielding, so the long wait for a lock is ours, below.
    yield* sql`PRAGMA busy_timeout = 50`
    return Object.assign(sql, { withTransaction: immediateTransaction(sql) })
  },
  (opening) => failing(opening),
)

const inodeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino

/** Failures in words. The client dies on a file that it cannot open. */
const failing = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  effect.pipe(
    Effect.catchAllDefect(Effect.fail),
    Effect.mapError((error) =>
      error instanceof StoreFailure || error instanceof Presence.NoDatabase
        ? error
        : Failure.describe(error),
    ),
  )

/**
 * A deferred transaction that reads before it writes can fail halfway when another process wrote
 * in between; an immediate one waits for its turn at the start. And a commit that failed, as on a
 * full disk, leaves the transaction open, which would fail every later one, if it were not rolled back.
 */
const immediateTransaction = (sql: SqlClient.SqlClient): SqlClient.SqlClient["withTransaction"] => {
  const withTransaction = transaction.make(sql, "BEGIN IMMEDIATE", (connection, statement) =>
    // Whatever it throws happens inside the transaction, which then gives its connection back.
    Effect.suspend(() => connection.execute(statement, [], undefined)),
  )
  // From the outside, so that the connection is free for readers meanwhile.
  return (effect) =>
    retry({ while: Failure.isBusy, schedule: waitForLock })(withTransaction(effect))
}

const waitForLock = Schedule.spaced("10 millis").pipe(Schedule.upTo("5 seconds"))
