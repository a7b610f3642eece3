/**
 * Stores the journal of a bulk check in its own SQLite file. One run at a time can open the file.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { v4 as uuid } from "uuid"
import { CheckJournal, JournaledResult, JournalFailed } from "../bulk/CheckJournal.ts"
import { refuseLink } from "../bulk/refuseLink.ts"
import { CompactOutcome, expand } from "../Metrics.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"

/**
 * Opens the journal file or creates it. Always keeps an unfinished run, so that it can resume. A
 * finished run is replaced by a new run if `again` is true, and is kept otherwise. Fails with
 * JournalFailed when another run has the file open, or the file is damaged or not writable.
 */
export const layer = (
  filename: string,
  { again = false }: { readonly again?: boolean } = {},
): Layer.Layer<CheckJournal, JournalFailed> =>
  Layer.scoped(CheckJournal, Effect.mapError(make(filename, again), failure(filename))).pipe(
    Layer.provide(Reactivity.layer),
  )

const make = (filename: string, again: boolean) =>
  Effect.gen(function* () {
    const sql = yield* open(filename)
    const now = yield* Clock.currentTimeMillis
    if (again) yield* deleteFinished(sql)
    yield* sql`INSERT INTO run (only, id, started_at) VALUES (1, ${uuid()}, ${now}) ON CONFLICT DO NOTHING`
    const [run] = yield* decodeRuns(
      yield* sql`SELECT id, started_at, (SELECT at FROM finished) AS finished_at FROM run`,
    )
    const answered = yield* countOf(
      sql`SELECT count(*) AS n FROM batches WHERE results IS NOT NULL`,
    )
    return CheckJournal.of({
      runId: run.id,
      startedAt: run.startedAt,
      finishedAt: run.finishedAt ?? undefined,
      answered,
      ...methods(sql, Effect.mapError(failure(filename))),
    })
  })

const methods = (
  sql: SqliteClient.SqliteClient,
  orFail: <A>(effect: Effect.Effect<A, unknown>) => Effect.Effect<A, JournalFailed>,
): Pick<
  CheckJournal["Type"],
  "unansweredSince" | "find" | "sending" | "keep" | "size" | "finish"
> => ({
  unansweredSince: (epochMs) =>
    orFail(
      countOf(
        sql`SELECT count(*) AS n FROM batches WHERE results IS NULL AND sent_at < ${epochMs}`,
      ),
    ),

  find: (batch) =>
    sql`SELECT fingerprint, results, credits_used FROM batches WHERE number = ${batch}`.pipe(
      Effect.flatMap(decodeBatches),
      Effect.map(([row]) => {
        if (row === undefined) return undefined
        const { creditsUsed, fingerprint, results } = row
        const answer = results && { results: results.map(expanded), creditsUsed }
        return { fingerprint, answer: answer ?? undefined }
      }),
      orFail,
    ),

  // When a batch is sent a second time, keep the time of the first attempt, because the service
  // perhaps stored the idempotency key at that time.
  sending: (batch, fingerprint) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (at) => sql`INSERT INTO batches (number, fingerprint, sent_at, credits_used)
        VALUES (${batch}, ${fingerprint}, ${at}, 0) ON CONFLICT DO NOTHING`,
    ).pipe(Effect.asVoid, orFail),

  keep: (batch, { creditsUsed, results }) =>
    sql`UPDATE batches SET results = ${JSON.stringify(results)}, credits_used = ${creditsUsed}
      WHERE number = ${batch}`.pipe(Effect.asVoid, orFail),

  size: orFail(countOf(sql`SELECT count(*) AS n FROM batches`)),

  finish: Effect.flatMap(
    Clock.currentTimeMillis,
    (at) => sql`INSERT INTO finished (only, at) VALUES (1, ${at}) ON CONFLICT DO NOTHING`,
  ).pipe(Effect.asVoid, orFail),
})

/** Locks the file for the whole run. The lock ends with the process, even when it is killed. */
const open = (filename: string) =>
  Effect.gen(function* () {
    yield* Effect.try(() => refuseLink(filename))
    const sql = yield* SqliteClient.make({ filename, disableWAL: true, ...naming })
    yield* sql`PRAGMA busy_timeout = 0`
    yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    yield* sql`PRAGMA journal_mode = WAL`
    // A power failure must not lose results that were paid for.
    yield* sql`PRAGMA synchronous = FULL`
    yield* sql`CREATE TABLE IF NOT EXISTS run (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      id TEXT NOT NULL,
      started_at INTEGER NOT NULL
    )`
    yield* sql`CREATE TABLE IF NOT EXISTS batches (
      number INTEGER PRIMARY KEY,
      fingerprint TEXT NOT NULL,
      sent_at INTEGER NOT NULL,
      credits_used INTEGER NOT NULL,
      results TEXT
    )`
    yield* sql`CREATE TABLE IF NOT EXISTS finished (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      at INTEGER NOT NULL
    )`
    return sql
    // The SQLite client dies when it cannot open the file. This turns the defect into a typed
    // error.
  }).pipe(Effect.catchAllDefect(Effect.fail))

// Deletes a finished run. The next run gets another id, so the service treats its batches as new.
const deleteFinished = (sql: SqliteClient.SqliteClient) =>
  sql.withTransaction(
    Effect.gen(function* () {
      if ((yield* countOf(sql`SELECT count(*) AS n FROM finished`)) === 0) return
      yield* sql`DELETE FROM batches`
      yield* sql`DELETE FROM run`
      yield* sql`DELETE FROM finished`
    }),
  )

const Runs = Schema.Tuple(
  Schema.Struct({
    id: Schema.String,
    startedAt: Schema.Int,
    finishedAt: Schema.NullOr(Schema.Int),
  }),
)
const decodeRuns = Schema.decodeUnknown(Runs)

const Counts = Schema.Tuple(Schema.Struct({ n: Schema.Int }))
const countOf = (rows: Effect.Effect<unknown, SqlError>) =>
  Effect.map(Effect.flatMap(rows, Schema.decodeUnknown(Counts)), ([{ n }]) => n)

const Batches = Schema.Array(
  Schema.Struct({
    fingerprint: Schema.String,
    results: Schema.NullOr(
      Schema.parseJson(Schema.Array(Schema.Union(CompactOutcome, JournaledResult))),
    ),
    creditsUsed: Schema.Int,
  }),
)
const decodeBatches = Schema.decodeUnknown(Batches)

// Version 1.0.0 stores results in the compact form.
const expanded = (result: CompactOutcome | JournaledResult): JournaledResult => {
  if (typeof result === "string") return { reason: result }
  return "reason" in result || "domainAuthority" in result ? result : expand(result)
}

const failure =
  (filename: string) =>
  (error: unknown): JournalFailed => {
    const code = Failure.codeOf(error)
    const [, problem = Failure.wordsOf(error)] =
      problems.find(([pattern]) => pattern.test(code)) ?? []
    return new JournalFailed({ message: `the journal ${filename}: ${problem}`, cause: error })
  }

/** The problem and its remedy, by SQLite's result code. */
const problems: ReadonlyArray<readonly [pattern: RegExp, problem: string]> = [
  [
    /^SQLITE_(BUSY|LOCKED)/,
    "another run is using the journal; wait until that run ends, or stop that run",
  ],
  [/^SQLITE_FULL/, "the disk is full; free some space"],
  [/^SQLITE_(NOTADB|CORRUPT|ERROR)/, "the file is damaged, or is not a journal; move it away"],
  [/^SQLITE_(CANTOPEN|READONLY)/, "it cannot be written; check the permissions of its folder"],
]
