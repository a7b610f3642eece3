/**
 * Stores the journal of `authority check` in its own SQLite file. One run at a time can open the
 * file.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as v from "valibot"
import { type CheckJournal, JournalFailed } from "../bulk/CheckJournal.ts"
import { refuseLink } from "../bulk/refuseLink.ts"
import { Batch, Entry } from "../run/Journal.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"

/**
 * Opens the journal file or creates it, until the scope closes. Fails with JournalFailed when
 * another run has the file open, or the file is damaged or not writable.
 */
export const open = (filename: string): Effect.Effect<CheckJournal, JournalFailed, Scope.Scope> =>
  Effect.map(Effect.mapError(locked(filename), failure(filename)), (sql) => {
    const promise = async <A>(effect: Effect.Effect<A, unknown>): Promise<A> =>
      Either.getOrThrowWith(await Effect.runPromise(Effect.either(effect)), failure(filename))
    const done = (effect: Effect.Effect<unknown, unknown>) => promise(Effect.asVoid(effect))
    const unfinished = sql`DELETE FROM finished`
    return {
      read: () =>
        promise(
          Effect.all({
            entries: Effect.flatMap(sql`SELECT text FROM entries`, entriesIn),
            batches: Effect.flatMap(sql`SELECT text FROM sent ORDER BY rowid`, batchesIn),
          }),
        ),
      keepEntries: (entries) =>
        done(
          sql`INSERT INTO entries ${sql.insert(
            entries.map((entry) => ({ url: entry.url, text: JSON.stringify(entry) })),
          )} ON CONFLICT DO NOTHING`,
        ),
      keepBatch: (batch) =>
        done(
          sql`INSERT INTO sent (key, text) VALUES (${batch.key}, ${JSON.stringify(batch)})
            ON CONFLICT (key) DO UPDATE SET text = excluded.text`.pipe(
            Effect.zipRight(unfinished),
            sql.withTransaction,
          ),
        ),
      removeBatch: (key) => done(sql`DELETE FROM sent WHERE key = ${key}`),
      finishedAt: () =>
        promise(
          Effect.map(
            Effect.flatMap(sql`SELECT at FROM finished`, decodeFinished),
            ([finished]) => finished?.at,
          ),
        ),
      finish: () =>
        done(
          Effect.flatMap(
            Clock.currentTimeMillis,
            (at) => sql`INSERT INTO finished (only, at) VALUES (1, ${at}) ON CONFLICT DO NOTHING`,
          ),
        ),
      clear: () => done(Effect.zipRight(sql`DELETE FROM sent`, unfinished)),
    }
  })

/** Locks the file until the scope closes, or the process ends, even when it is killed. */
const locked = (filename: string) =>
  Effect.gen(function* () {
    yield* Effect.try(() => refuseLink(filename))
    const sql = yield* SqliteClient.make({ filename, disableWAL: true, ...naming })
    yield* sql`PRAGMA busy_timeout = 0`
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    yield* sql`PRAGMA journal_mode = WAL`
    // A power failure must not lose results that were paid for.
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`CREATE TABLE IF NOT EXISTS entries (url TEXT PRIMARY KEY, text TEXT NOT NULL)`
    yield* sql`CREATE TABLE IF NOT EXISTS sent (key TEXT PRIMARY KEY, text TEXT NOT NULL)`
    yield* sql`CREATE TABLE IF NOT EXISTS finished (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      at INTEGER NOT NULL
    )`
    return sql
    // The SQLite client dies when it cannot open the file. This turns the defect into a typed
    // error.
  }).pipe(Effect.catchAllDefect(Effect.fail), Effect.provide(Reactivity.layer))

/** Makes a decoder of rows whose column `text` has the schema's value as JSON. */
const textsOf = <A>(schema: v.GenericSchema<unknown, A>) => {
  const value = Schema.declare((value): value is A => v.is(schema, value))
  const decode = Schema.decodeUnknown(
    Schema.Array(Schema.Struct({ text: Schema.parseJson(value) })),
  )
  return (rows: unknown) => Effect.map(decode(rows), (rows) => rows.map(({ text }) => text))
}
const entriesIn = textsOf(Entry)
const batchesIn = textsOf(Batch)

const decodeFinished = Schema.decodeUnknown(Schema.Array(Schema.Struct({ at: Schema.Int })))

const failure =
  (filename: string) =>
  (error: unknown): JournalFailed => {
    const code = ParseResult.isParseError(error) ? damaged : Failure.codeOf(error)
    const [, problem = Failure.wordsOf(error)] =
      problems.find(([pattern]) => pattern.test(code)) ?? []
    return new JournalFailed({ message: `the journal ${filename}: ${problem}`, cause: error })
  }

/** SQLite's code for a damaged file, which stands for contents that are no journal's too. */
const damaged = "SQLITE_CORRUPT"

/** The problem and its remedy, by SQLite's result code. */
const problems: ReadonlyArray<readonly [pattern: RegExp, problem: string]> = [
  [
    /^SQLITE_(BUSY|LOCKED)/,
    "another run is using the journal; wait until that run ends, or stop that run",
  ],
  [/^SQLITE_FULL/, "the disk is full; free some space"],
  [/^SQLITE_(NOTADB|CORRUPT|ERROR)/, "the file is damaged, or is not a journal; move it away"],
  [
    /^SQLITE_(CANTOPEN|READONLY)/,
    "it cannot be written; check the permissions of its folder, or name another file with --journal",
  ],
]
