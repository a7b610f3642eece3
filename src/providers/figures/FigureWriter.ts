/**
 * Writes figures to the store in the background: no request waits for a write, and a slow or
 * failing write loses only its own figures.
 */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Figures, MetricsCache } from "./MetricsCache.ts"
import { inTime, tolerant } from "../logOnce.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"

/** Queues figures for writing. Drops those that do not fit into the queue. */
export type Write = (figures: ReadonlyArray<Figures>) => Effect.Effect<void>

const maxQueued = 20_000
/** Maximum number of pages in one write. It takes SQLite about 2 ms, and blocks the process. */
const putSize = 200
/** How long figures are collected after a write before the next one. */
const pause = "200 millis"
const writeTimeout = "2 seconds"

/**
 * Starts writing, and deletes every ten minutes what is older than `keptMs`. When the scope closes,
 * writes what is queued.
 */
export const make = (
  store: MetricsCache["Type"],
  keptMs: number,
): Effect.Effect<Write, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.dropping<Figures>(maxQueued)
    const written = tolerant(warnOfWrites)
    let isFull = false

    const put = (batch: ReadonlyArray<Figures>) => {
      const figures = [...new Map(batch.map((one) => [one.page, one])).values()]
      return Arr.isNonEmptyArray(figures) ? inTime(store.put(figures), writeTimeout) : Effect.void
    }
    const turn = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(Queue.takeBetween(queue, 1, putSize)), (batch) =>
        Effect.as(toItsEnd(written(put([...batch]))), batch.length),
      ),
    ).pipe(Effect.flatMap((size) => Effect.sleep(size < putSize ? pause : 0)))
    const flush = Effect.flatMap(Queue.takeAll(queue), (rest) =>
      Effect.forEach(Arr.chunksOf(rest, putSize), put, { discard: true }),
    )
    const isSteady = MonotonicClock.makeIsWallClockSteady()
    const sweep = Effect.flatMap(Clock.currentTimeMillis, (now) => store.sweep(now - keptMs)).pipe(
      Effect.whenEffect(isSteady),
      Effect.disconnect,
      tolerant(warnOfSweep),
    )

    yield* Effect.addFinalizer(() => toItsEnd(written(flush)))
    yield* Effect.forkScoped(Effect.forever(turn))
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("10 minutes")))

    return (figures) =>
      Effect.flatMap(Queue.offerAll(queue, figures), (fits) => {
        const isNew = !fits && !isFull
        isFull = !fits
        return isNew ? warnOfQueue : Effect.void
      })
  })

/** Runs an effect until it ends or times out, even in a finalizer, which no timeout interrupts. */
const toItsEnd = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), Fiber.join),
  )

const warnOfWrites = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(
    "Figures cannot be written to the database. They stay in memory, and are bought again after a restart. To check the database, run 'authority doctor'.",
    cause,
  )

const warnOfSweep = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(
    "Old figures cannot be deleted from the database. The service tries again every ten minutes. To check the database, run 'authority doctor'.",
    cause,
  )

const warnOfQueue = Effect.logWarning(
  "Figures are bought faster than the database can write them. Some stay in memory only, and are bought again after a restart.",
)
