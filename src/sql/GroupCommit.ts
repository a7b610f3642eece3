/**
 * Group commit: concurrent commands share one commit, and so one wait for the disk. Commands that
 * arrive during a commit, or in the same turn of the event loop, share the next commit. A lone
 * command waits only for the next turn of the event loop.
 */
import { setImmediate } from "node:timers"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { ReconnectLimit } from "./retry.ts"

/** Maximum number of commands in one transaction. */
const batchSize = 512

/** Maximum number of turns of the event loop that a commit waits for more commands. */
const maxTurns = 16

/** Interval at which the queue looks for commands whose `limit` has passed. */
const checkInterval = Duration.millis(250)

/**
 * Why a caller stops waiting. A withdrawn command was removed from the queue and is never
 * committed. An undecided command is in a commit in progress, which succeeds or fails later.
 */
export type GivenUp = "withdrawn" | "undecided"

type Callback = (exit: Exit.Exit<void, GivenUp>) => void

/** The commands that wait for a commit. */
export interface Queue<Command> {
  /**
   * Queues a command. Calls `callback` exactly once: after the commit, with a defect if the commit
   * failed, or with an interrupt if the queue is closed. If none of these happens by `limit` (a time
   * of `MonotonicClock`; default: no limit), calls `callback` with GivenUp at most 250 ms later.
   * Never throws, and `callback` must not throw.
   */
  readonly submit: (command: Command, callback: Callback, limit?: number) => void
}

/** Runs a function in the next turn of the event loop. Simulation tests provide another `run`. */
export class NextTurn extends Context.Reference<NextTurn>()("authority/sql/NextTurn", {
  defaultValue: (): { readonly run: (task: () => void) => void } => ({ run: setImmediate }),
}) {}

interface Pending<Command> {
  readonly command: Command
  readonly limit: number
  /** Undefined after the callback was called, so that it is not called twice. */
  callback: Callback | undefined
}

/**
 * Makes a queue. `commit` runs commands in one transaction: it fails and changes nothing when one
 * of the commands is at fault, and dies when the store is at fault. Closing the scope makes the
 * queue refuse new commands, and waits until the queued commands are committed.
 */
export const make = <Command, E>(
  commit: (commands: Arr.NonEmptyReadonlyArray<Command>) => Effect.Effect<void, E>,
): Effect.Effect<Queue<Command>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { run: inNextTurn } = yield* NextTurn
    // Use an array and callbacks: Effect's Queue and Deferred would take more time per command than
    // the command's share of the commit.
    let queue: Array<Pending<Command>> = []
    const hasWork = yield* Effect.makeLatch(false)
    let isClosed = false
    /** The commands of the commit in progress. */
    let underWay: ReadonlyArray<Pending<Command>> = []
    const hasLimits = yield* Effect.makeLatch(false)

    /**
     * Waits until a turn of the event loop adds no command to the queue, the queue holds a full
     * batch, or `maxTurns` turns have passed.
     */
    const gathered = Effect.async<void>((resume) => {
      let [turns, seen] = [0, 0]
      const turn = () => {
        const isGrowing = queue.length > seen && queue.length < batchSize && turns++ < maxTurns
        if (!isGrowing) return resume(Effect.void)
        seen = queue.length
        inNextTurn(turn)
      }
      turn()
    })

    const take = Effect.sync(() => {
      const batch = queue.slice(0, batchSize)
      queue = queue.slice(batchSize)
      if (queue.length === 0 && !isClosed) hasWork.unsafeClose()
      underWay = batch
      return batch
    })

    const commitBatch = (batch: ReadonlyArray<Pending<Command>>): Effect.Effect<void> =>
      Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.matchCauseEffect(commit(Arr.map(batch, ({ command }) => command)), {
            onSuccess: () => callBack(batch, Exit.void),
            onFailure: (cause) =>
              batch.length > 1 && Cause.isFailure(cause)
                ? commitHalves(batch)
                : callBack(batch, Exit.failCause(Cause.flatMap(cause, Cause.die))),
          })
        : Effect.void

    /**
     * Commits the two halves of a failed batch one after the other. A half that fails is split in
     * turn, so that only the command at fault fails.
     */
    const commitHalves = (batch: ReadonlyArray<Pending<Command>>) =>
      Effect.forEach(Arr.splitAt(batch, Math.ceil(batch.length / 2)), commitBatch, {
        discard: true,
      })

    const step = hasWork.await.pipe(
      Effect.zipRight(gathered),
      Effect.zipRight(take),
      Effect.flatMap(commitBatch),
      Effect.zipRight(
        Effect.sync(() => {
          underWay = []
        }),
      ),
    )
    const { limit } = yield* ReconnectLimit
    // The worker is a daemon: interrupting a caller must not stop it before all commands are
    // committed.
    const worker = yield* Effect.whileLoop({
      while: () => !isClosed || queue.length > 0,
      body: () => step,
      step: () => {},
    }).pipe(
      // A shutdown does not wait for an unreachable database: closing the queue ends the retries.
      Effect.provideService(ReconnectLimit, { limit, isOver: () => isClosed }),
      Effect.forkDaemon,
    )

    /** One timer serves all commands: a timer per command would need a fiber per command. */
    const giveUp = Effect.gen(function* () {
      yield* hasLimits.await
      yield* Effect.sleep(checkInterval)
      const now = yield* MonotonicClock.now
      const isLate = ({ callback, limit }: Pending<Command>) =>
        limit <= now && callback !== undefined
      const withdrawn = queue.filter(isLate)
      const undecided = underWay.filter(isLate)
      if (withdrawn.length > 0) queue = queue.filter((pending) => !isLate(pending))
      if (queue.length === 0 && underWay.length === 0) hasLimits.unsafeClose()
      if (withdrawn.length === 0 && undecided.length === 0) return
      yield* callBack(withdrawn, Exit.fail("withdrawn"))
      yield* callBack(undecided, Exit.fail("undecided"))
      yield* Effect.logWarning(
        `The database is too slow. Changes that will never be committed: ${withdrawn.length}; their requests got 503. Changes that may still be committed: ${undecided.length}; their requests got 503 or 500. Check the database's disk, locks and network.`,
      )
    })
    const timer = yield* Effect.forkDaemon(Effect.forever(giveUp))

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        hasWork.unsafeOpen()
        return Effect.zipRight(Fiber.await(worker), Fiber.interrupt(timer))
      }),
    )

    return {
      submit: (command, callback, limit = Number.POSITIVE_INFINITY) => {
        // The queue is closed, so interrupt callers that submit a command now.
        if (isClosed) return callback(Exit.interrupt(FiberId.none))
        // The length of `queue` needs no limit: each command has a caller that waits for it, and
        // the number of callers is limited.
        queue.push({ command, callback, limit })
        hasWork.unsafeOpen()
        if (limit < Number.POSITIVE_INFINITY) hasLimits.unsafeOpen()
      },
    }
  })

/** Calls the callbacks of a batch. Logs an error that a callback throws, and goes on. */
const callBack = <Command>(
  batch: ReadonlyArray<Pending<Command>>,
  exit: Exit.Exit<void, GivenUp>,
) =>
  Effect.suspend(() => {
    const thrown: Array<unknown> = []
    for (const pending of batch) {
      const { callback } = pending
      pending.callback = undefined
      try {
        callback?.(exit)
      } catch (defect) {
        thrown.push(defect)
      }
    }
    return Effect.forEach(
      thrown,
      (defect) =>
        Effect.logError(
          "Because of a bug, a request did not learn whether its changes were committed. Please report the stack trace in the field 'cause'.",
          defect,
        ),
      {
        discard: true,
      },
    )
  })
