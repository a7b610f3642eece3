/**
 * Concurrent commands share one commit, and so one wait for the disk. Whatever is asked for while
 * a commit is under way, or in the same turn of the event loop, goes together into the next; a
 * lone command waits for nobody.
 */
import { setImmediate } from "node:timers"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Fiberless from "../Fiberless.ts"
import type { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"
import { retry } from "./retry.ts"

/** How many commands one transaction takes. */
const batchSize = 512

/** How many commands may wait; past that, asking waits too. */
const capacity = 8192

/** For how many turns of the event loop a commit waits at most while each brings more commands. */
const maxTurns = 16

interface Pending<Command> {
  readonly command: Command
  /** With the exit of a commit that came to nothing; without one, the commit is on disk. */
  readonly end: (failure?: Exit.Exit<never>) => void
}

/** Returns what `answer` gives once the command is committed, or dies with its commit. */
export type Submit<Command> = <A, E>(
  command: Command,
  answer: () => Effect.Effect<A, E>,
) => Effect.Effect<A, E>

/**
 * `commit` runs the commands in one transaction; it fails when one of them is at fault and nothing
 * was done, and dies when the store is at fault. Closing the scope commits what is queued first.
 */
export const make = <Command, E>(
  commit: (commands: Arr.NonEmptyReadonlyArray<Command>) => Effect.Effect<void, E>,
): Effect.Effect<Submit<Command>, never, Scope.Scope> =>
  Effect.gen(function* () {
    // A list and callbacks: a queue with deferreds costs each command more than its commit does.
    let queue: Array<Pending<Command>> = []
    const hasRoom = yield* Effect.makeLatch(true)
    const hasWork = yield* Effect.makeLatch(false)
    let isClosed = false

    /** A lone command waits for the rest of its turn, and others for as long as more keep coming. */
    const gathered = Effect.async<void>((resume) => {
      let [turns, seen] = [0, 0]
      const turn = () => {
        const isGrowing = queue.length > seen && queue.length < batchSize && turns++ < maxTurns
        if (!isGrowing) return resume(Effect.void)
        seen = queue.length
        setImmediate(turn)
      }
      turn()
    })

    const take = Effect.sync(() => {
      const batch = queue.slice(0, batchSize)
      queue = queue.slice(batchSize)
      if (queue.length === 0 && !isClosed) hasWork.unsafeClose()
      hasRoom.unsafeOpen()
      return batch
    })

    const commitAll = (batch: Arr.NonEmptyReadonlyArray<Pending<Command>>) =>
      Effect.catchAll(
        Effect.zipRight(commit(Arr.map(batch, ({ command }) => command)), endAll(batch)),
        (error) =>
          batch.length === 1
            ? Effect.die(error)
            : // One command's fault is not its neighbours': in halves, and in order, down to it.
              Effect.forEach(Arr.splitAt(batch, Math.ceil(batch.length / 2)), commitBatch),
      )

    const commitBatch = (batch: ReadonlyArray<Pending<Command>>): Effect.Effect<void> =>
      Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.catchAllCause(commitAll(batch), (cause) => endAll(batch, Exit.failCause(cause)))
        : Effect.void

    const step = hasWork.await.pipe(
      Effect.zipRight(gathered),
      Effect.zipRight(take),
      Effect.flatMap(commitBatch),
    )
    // A daemon, for it must outlive interruption of whoever waits, until all is committed.
    const worker = yield* Effect.forkDaemon(
      Effect.whileLoop({
        while: () => !isClosed || queue.length > 0,
        body: () => step,
        step: () => {},
      }),
    )
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        hasWork.unsafeOpen()
        return Fiber.await(worker)
      }),
    )

    const submit: Submit<Command> = (command, answer) =>
      Fiberless.async((resume) => {
        // Whoever asks behind the end has outlived the store.
        if (isClosed) return resume(Effect.interrupt)
        if (queue.length === capacity) {
          hasRoom.unsafeClose()
          return resume(Effect.zipRight(hasRoom.await, submit(command, answer)))
        }
        queue.push({ command, end: (failure) => resume(failure ?? answer()) })
        hasWork.unsafeOpen()
      })
    return submit
  })

/**
 * Makes of statements what `make` takes: one transaction that tells whose fault its failure is. Where
 * the connection is lost they are run again, and must find out by themselves whether what they did
 * before stands, for the connection may have been lost with nothing but the answer to COMMIT.
 */
export const inTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(statements: Effect.Effect<A, E, R>): Effect.Effect<A, StoreFailure, R> =>
    statements.pipe(
      sql.withTransaction,
      retry({ while: Failure.isConflict, schedule: Schedule.recurs(10) }),
      retry({ while: Failure.isDisconnection, schedule: reconnection }),
      Effect.catchAll((error) =>
        Failure.isBadData(error)
          ? Effect.fail(Failure.describe(error))
          : Effect.die(Failure.describe(error)),
      ),
    )

const reconnection = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(3))

const commitSize = Metric.histogram(
  "authority_ledger_commit_commands",
  MetricBoundaries.exponential({ start: 1, factor: 2, count: 10 }),
  "commands that shared a commit",
)

const commitSeconds = Metric.histogram(
  "authority_ledger_commit_seconds",
  MetricBoundaries.fromIterable([
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
  ]),
  "how long a commit took",
)

/** Counts a commit of the ledger that went well. */
export const measured =
  (size: number) =>
  <E>(commit: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.map(Effect.timed(commit), ([duration]) => {
      commitSize.unsafeUpdate(size, [])
      commitSeconds.unsafeUpdate(Duration.toMillis(duration) / 1000, [])
    })

const endAll = <Command>(batch: ReadonlyArray<Pending<Command>>, failure?: Exit.Exit<never>) =>
  Effect.sync(() => batch.forEach(({ end }) => end(failure)))
