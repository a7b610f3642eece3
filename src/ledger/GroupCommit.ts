/**
 * Group commit: concurrent commands share one commit, and so one wait for the disk. Commands that
 * arrive during a commit, or in the same turn of the event loop, share the next commit. A lone
 * command waits only for the next turn of the event loop.
 */
import { setImmediate } from "node:timers"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "../sql/Failure.ts"
import { ReconnectLimit, retryAfterDisconnection } from "../sql/retry.ts"

const batchSize = 512

/** How long a commit waits for more commands, in turns of the event loop and in milliseconds. */
const maxTurns = 16
const maxWaitMs = 15

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

interface State<Command> {
  /** An array, because Effect's Queue would take more time than a command's share of the commit. */
  waiting: Array<Pending<Command>>
  /** The commands of the commit in progress. */
  underWay: ReadonlyArray<Pending<Command>>
  isClosed: boolean
  readonly hasWork: Effect.Latch
  readonly hasLimits: Effect.Latch
}

type Commit<Command, E> = (commands: Arr.NonEmptyReadonlyArray<Command>) => Effect.Effect<void, E>

/**
 * Makes a queue. `commit` runs commands in one transaction: it fails and changes nothing when one
 * of the commands is at fault, and dies when the store is at fault. Closing the scope makes the
 * queue refuse new commands, and waits until the queued commands are committed.
 */
export const make = <Command, E>(
  commit: Commit<Command, E>,
): Effect.Effect<Queue<Command>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const nextTurn = yield* NextTurn
    const clock = yield* Effect.clock
    const { limit } = yield* ReconnectLimit
    const state: State<Command> = {
      waiting: [],
      underWay: [],
      isClosed: false,
      hasWork: yield* Effect.makeLatch(false),
      hasLimits: yield* Effect.makeLatch(false),
    }
    const step = state.hasWork.await.pipe(
      Effect.zipRight(gathered(state, nextTurn, clock)),
      Effect.zipRight(Effect.suspend(() => commitBatch(commit, take(state)))),
      Effect.zipRight(
        Effect.sync(() => {
          state.underWay = []
        }),
      ),
    )
    // The worker is a daemon: interrupting a caller must not stop it before all commands are
    // committed.
    const worker = yield* Effect.whileLoop({
      while: () => !state.isClosed || state.waiting.length > 0,
      body: () => step,
      step: () => {},
    }).pipe(
      // A shutdown does not wait for an unreachable database: closing the queue ends the retries.
      Effect.provideService(ReconnectLimit, { limit, isOver: () => state.isClosed }),
      Effect.forkDaemon,
    )
    const timer = yield* Effect.forkDaemon(Effect.forever(giveUp(state)))

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        state.isClosed = true
        state.hasWork.unsafeOpen()
        return Effect.zipRight(Fiber.await(worker), Fiber.interrupt(timer))
      }),
    )

    return {
      submit: (command, callback, limit = Number.POSITIVE_INFINITY) => {
        // The queue is closed, so interrupt callers that submit a command now.
        if (state.isClosed) return callback(Exit.interrupt(FiberId.none))
        // The queue needs no maximum length: each command has a caller that waits for it, and the
        // number of callers is limited.
        state.waiting.push({ command, callback, limit })
        state.hasWork.unsafeOpen()
        if (limit < Number.POSITIVE_INFINITY) state.hasLimits.unsafeOpen()
      },
    }
  })

/**
 * Runs the statements of a commit in one transaction. Fails with StoreFailure when the database
 * rejects the data or a stored row cannot be decoded. Dies with StoreFailure when the database
 * itself fails. After a lost connection the statements run a second time, so they must check
 * whether the first attempt was committed.
 */
export const inTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(statements: Effect.Effect<A, E, R>): Effect.Effect<A, StoreFailure, R> =>
    statements.pipe(
      sql.withTransaction,
      retryAfterDisconnection,
      Effect.catchAll((error) =>
        Failure.isBadData(error)
          ? Effect.fail(Failure.describe(error))
          : Effect.die(Failure.describe(error)),
      ),
    )

// Waits until a turn of the event loop adds no command to the queue, the queue holds a full batch,
// or the wait takes too long: under load, a turn may take some milliseconds.
const gathered = <Command>(
  state: State<Command>,
  { run: inNextTurn }: NextTurn["Type"],
  clock: Clock.Clock,
) =>
  Effect.async<void>((resume) => {
    let [turns, seen] = [0, 0]
    const startedAt = MonotonicClock.unsafeNow(clock)
    const turn = () => {
      const { length } = state.waiting
      const mayWait =
        length > seen &&
        length < batchSize &&
        turns++ < maxTurns &&
        MonotonicClock.unsafeNow(clock) - startedAt < maxWaitMs
      if (!mayWait) return resume(Effect.void)
      seen = length
      inNextTurn(turn)
    }
    turn()
  })

const take = <Command>(state: State<Command>) => {
  state.underWay = state.waiting.slice(0, batchSize)
  state.waiting = state.waiting.slice(batchSize)
  if (state.waiting.length === 0 && !state.isClosed) state.hasWork.unsafeClose()
  return state.underWay
}

// Commits a batch. A batch that fails is committed in two halves, one after the other, so that only
// the command at fault fails.
const commitBatch = <Command, E>(
  commit: Commit<Command, E>,
  batch: ReadonlyArray<Pending<Command>>,
): Effect.Effect<void> =>
  Arr.isNonEmptyReadonlyArray(batch)
    ? Effect.matchCauseEffect(commit(Arr.map(batch, ({ command }) => command)), {
        onSuccess: () => callBack(batch, Exit.void),
        onFailure: (cause) =>
          batch.length > 1 && Cause.isFailure(cause)
            ? Effect.forEach(
                Arr.splitAt(batch, Math.ceil(batch.length / 2)),
                (half) => commitBatch(commit, half),
                { discard: true },
              )
            : callBack(batch, Exit.failCause(Cause.flatMap(cause, Cause.die))),
      })
    : Effect.void

/** One timer serves all commands: a timer per command would need a fiber per command. */
const giveUp = <Command>(state: State<Command>) =>
  Effect.gen(function* () {
    yield* state.hasLimits.await
    yield* Effect.sleep(checkInterval)
    const now = yield* MonotonicClock.now
    const isLate = ({ callback, limit }: Pending<Command>) => limit <= now && callback !== undefined
    const withdrawn = state.waiting.filter(isLate)
    const undecided = state.underWay.filter(isLate)
    if (withdrawn.length > 0) state.waiting = state.waiting.filter((pending) => !isLate(pending))
    if (state.waiting.length === 0 && state.underWay.length === 0) state.hasLimits.unsafeClose()
    if (withdrawn.length === 0 && undecided.length === 0) return
    yield* callBack(withdrawn, Exit.fail("withdrawn"))
    yield* callBack(undecided, Exit.fail("undecided"))
    yield* Effect.logWarning(
      `The database is too slow. Changes that nobody waits for any more: ${withdrawn.length} that will never be committed, and ${undecided.length} that may still be committed. Check the database's disk, locks and network.`,
    )
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
