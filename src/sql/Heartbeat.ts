/**
 * Detects dead processes among those that share the database. Each process owns a row of the table
 * `processes` and increments the row's counter `beats` every two seconds. A process counts as gone
 * when its `beats` have not changed for six seconds.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import * as Failure from "./Failure.ts"

export class Heartbeat extends Context.Tag("authority/sql/Heartbeat")<
  Heartbeat,
  {
    /** The id of this process's row. The holds of this process carry this id. */
    readonly owner: string
    /** Increments this process's `beats`. Inserts its row if another process removed the row. */
    readonly beat: Effect.Effect<void, SqlError>
    /**
     * Records that this process can write to the database. Call it after each successful commit
     * that wrote something.
     */
    readonly committed: () => void
    /**
     * Returns why no commit that writes has succeeded in the last 10 seconds; undefined if one
     * succeeded.
     */
    readonly trouble: () => string | undefined
    /**
     * Removes the rows of gone processes, and returns the ids of these processes. The caller must
     * end the holds of these processes. Must run at least every 3 seconds. When several callers
     * find the same row, only the caller that removes it gets its id. If a process still has open
     * holds 6 seconds after its row was removed, every caller gets its id.
     */
    readonly takeGone: Effect.Effect<ReadonlyArray<string>, SqlError | ParseError>
  }
>() {}

const interval = Duration.seconds(2)

const secondsInNanos = (seconds: number) => BigInt(seconds) * 1_000_000_000n

/** A process counts as gone when its `beats` have not changed for this long, in nanoseconds. */
const standstill = secondsInNanos(6)

// Maximum time between two successive readings of the table `processes`, in nanoseconds. After a
// longer time, all earlier readings are ignored.
const longestGap = secondsInNanos(3)

// `trouble` reports a problem when the last successful commit is older than this, in nanoseconds.
const readyFor = secondsInNanos(10)

const Sighting = Schema.Struct({
  owner: Schema.String,
  /** Null when a hold stores the id of the process, but the process has no row. */
  beats: Schema.NullOr(Schema.Int),
})
type Sighting = typeof Sighting.Type

/** Makes a Heartbeat without a timer: the caller must run `beat` repeatedly. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Effect.clock
  const owner = uuid()
  const findGone = observer()
  let beats = 0
  let committedAt: bigint | undefined
  let failure: string | undefined

  const committed = () => {
    committedAt = clock.unsafeCurrentTimeNanos()
  }

  const beat = Effect.suspend(() => {
    beats++
    return sql`
      INSERT INTO processes (id, beats) VALUES (${owner}, ${beats})
      ON CONFLICT (id) DO UPDATE SET beats = excluded.beats`
  }).pipe(
    sql.withTransaction,
    Effect.tapErrorCause((cause) =>
      Effect.sync(() => {
        failure = Failure.summarize(Cause.squash(cause))
      }),
    ),
    Effect.map(() => {
      failure = undefined
      committed()
    }),
  )

  const trouble = () => {
    if (committedAt !== undefined && clock.unsafeCurrentTimeNanos() - committedAt <= readyFor) {
      return undefined
    }
    const since = committedAt === undefined ? "no commit yet" : "no commit in the last 10 seconds"
    return failure === undefined ? since : `${since}: ${failure}`
  }

  const others = othersThan(sql, owner)
  const takeGone = Effect.gen(function* () {
    const before = yield* Clock.currentTimeNanos
    const sightings = yield* others(undefined)
    const gone = findGone(sightings, before, yield* Clock.currentTimeNanos)
    const taken = yield* Effect.filter(gone, remove(sql))
    return taken.map(({ owner }) => owner)
  })

  return Heartbeat.of({ owner, beat, committed, trouble, takeGone })
})

const othersThan = (sql: SqlClient.SqlClient, owner: string) =>
  SqlSchema.findAll({
    Request: Schema.Void,
    Result: Sighting,
    execute: () => sql`
    SELECT id AS owner, beats FROM processes WHERE id <> ${owner}
    UNION ALL
    SELECT DISTINCT owner, CAST(NULL AS BIGINT) AS beats FROM holds
    WHERE owner <> ${owner} AND owner NOT IN (SELECT id FROM processes)`,
  })

// Removes the row of a gone process. Returns false when the process has incremented its `beats`
// since the row was read, or when another process has removed the row. If `beats` is null, the
// process has no row, and the result is true.
const remove =
  (sql: SqlClient.SqlClient) =>
  ({ beats, owner }: Sighting) =>
    beats === null
      ? Effect.succeed(true)
      : sql`DELETE FROM processes WHERE id = ${owner} AND beats = ${beats} RETURNING id`.pipe(
          sql.withTransaction,
          Effect.map((removed) => removed.length > 0),
        )

/** Runs `beat` every two seconds. Closing the scope removes the row of this process. */
export const layer: Layer.Layer<Heartbeat, never, SqlClient.SqlClient> = Layer.scoped(
  Heartbeat,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const heartbeat = yield* make
    let isFailing = false
    const attempt = heartbeat.beat.pipe(
      Effect.matchCauseEffect({
        onSuccess: () => {
          const hasRecovered = isFailing
          isFailing = false
          return hasRecovered
            ? Effect.logInfo("This process has resumed writing its heartbeat to the database.")
            : Effect.void
        },
        onFailure: (cause) => {
          const isKnown = isFailing || Cause.isInterruptedOnly(cause)
          isFailing = true
          const { message } = Failure.describe(Cause.squash(cause))
          return isKnown
            ? Effect.void
            : Effect.logError(`This process cannot write its heartbeat to the database: ${message}`)
        },
      }),
    )
    yield* Effect.addFinalizer(() =>
      sql`DELETE FROM processes WHERE id = ${heartbeat.owner}`.pipe(
        sql.withTransaction,
        Effect.catchAllCause((cause) =>
          Effect.logWarning(
            "The row of this process was not removed from the table 'processes'. Another process will remove the row.",
            cause,
          ),
        ),
      ),
    )
    // The service starts without waiting for the first beat. Until this process has committed a
    // beat or another change, `trouble` reports "no commit yet".
    yield* Effect.timed(attempt).pipe(
      // Do not use `Schedule.fixed` here: it waits too long after the clock of the machine was set
      // back.
      Effect.flatMap(([duration]) => Effect.sleep(Duration.subtract(interval, duration))),
      Effect.forever,
      Effect.forkScoped,
    )
    return heartbeat
  }),
)

// Returns a function that takes the rows of the other processes, as just read from the database,
// and returns the rows whose `beats` have not changed for six seconds, compared with its earlier
// calls.
const observer = () => {
  let known = new Map<string, { readonly beats: number | null; readonly since: bigint }>()
  let lookedAt: bigint | undefined

  // `before` and `after` are the times, in monotonic nanoseconds, just before and just after the
  // query that read the rows.
  return (sightings: ReadonlyArray<Sighting>, before: bigint, after: bigint) => {
    // This process, the database or the whole machine paused. The other processes perhaps paused
    // too, so ignore the earlier readings.
    if (lookedAt !== undefined && before - lookedAt > longestGap) known = new Map()
    lookedAt = after
    known = new Map(
      sightings.map(({ beats, owner }) => {
        const former = known.get(owner)
        return [owner, former?.beats === beats ? former : { beats, since: after }]
      }),
    )
    return sightings.filter(
      ({ owner }) => before - (known.get(owner)?.since ?? before) >= standstill,
    )
  }
}
