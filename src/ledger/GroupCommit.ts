/**
 * Group commit: the changes of concurrent requests share one transaction, and so one wait for the
 * disk. A worker takes the waiting changes, commits them, and answers their callers. Changes that
 * arrive during a commit share the next one; a lone change is committed at once.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import type { StoreFailure } from "../database/StoreFailure.ts"

const maxChanges = 512

/**
 * What became of a change whose caller stopped waiting. A withdrawn change is never committed. An
 * undecided change is part of a commit that may still succeed or fail.
 */
export type GivenUp = "withdrawn" | "undecided"

/** Answers the caller of a change, after the commit. */
export type Answer = Effect.Effect<unknown>

interface Waiting<Change> {
  readonly change: Change
  readonly fail: (cause: Cause.Cause<never>) => Answer
  /**
   * True once the worker has taken the change or its caller has withdrawn it, whichever came first.
   */
  readonly isTaken: Ref.Ref<boolean>
}

export interface GroupCommit<Change> {
  /**
   * Commits a change, and returns what `answer` is given. Waits at most `limitMs` milliseconds.
   * Dies when the commit fails, and is interrupted when the scope has been closed.
   */
  readonly submit: <A, E>(
    changeOf: (answer: (exit: Exit.Exit<A, E>) => Answer) => Change,
    limitMs: number,
  ) => Effect.Effect<A, E | GivenUp>
}

/**
 * `commit` runs changes in one transaction and returns their answers. It fails and changes nothing
 * when one of the changes is at fault, and dies when the store fails. Closing the scope waits until
 * every waiting change is committed.
 */
export const make = <Change>(
  commit: (
    changes: Arr.NonEmptyReadonlyArray<Change>,
  ) => Effect.Effect<ReadonlyArray<Answer>, StoreFailure>,
): Effect.Effect<GroupCommit<Change>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Option.Option<Waiting<Change>>>()

    // When a group fails, each half is committed separately, so that only the change at fault
    // fails.
    const commitAll = (group: ReadonlyArray<Waiting<Change>>): Effect.Effect<void> =>
      Arr.isNonEmptyReadonlyArray(group)
        ? Effect.matchCauseEffect(commit(Arr.map(group, ({ change }) => change)), {
            onSuccess: (answers) => Effect.all(answers, { discard: true }),
            onFailure: (cause) =>
              group.length > 1 && Cause.isFailure(cause)
                ? Effect.forEach(halvesOf(group), commitAll, { discard: true })
                : failAll(group, Cause.flatMap(cause, Cause.die)),
          })
        : Effect.void

    const turn = Effect.gen(function* () {
      const group = yield* Queue.takeBetween(queue, 1, maxChanges)
      const waiting = Chunk.compact(group)
      yield* commitAll(yield* Effect.filter(waiting, ({ isTaken }) => take(isTaken)))
      // A SQLite commit blocks the process, so let in the requests that arrived meanwhile.
      yield* Effect.sleep(0)
      return waiting.length < group.length
    })
    // A daemon, because the finalizer must end it only after the last commit.
    const worker = yield* Effect.forkDaemon(Effect.repeat(turn, { until: (isOver) => isOver }))
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* Queue.offer(queue, Option.none())
        yield* Fiber.await(worker)
        const late = yield* Queue.takeAll(queue)
        yield* Queue.shutdown(queue)
        yield* failAll(Chunk.compact(late), Cause.interrupt(worker.id()))
      }),
    )

    return {
      submit: <A, E>(
        changeOf: (answer: (exit: Exit.Exit<A, E>) => Answer) => Change,
        limitMs: number,
      ) =>
        Effect.gen(function* () {
          const exit = yield* Deferred.make<A, E>()
          const isTaken = yield* Ref.make(false)
          const change = changeOf((result) => Deferred.done(exit, result))
          const fail = (cause: Cause.Cause<never>) => Deferred.failCause(exit, cause)
          yield* Queue.offer(queue, Option.some({ change, fail, isTaken }))
          const answer = Deferred.await(exit)
          if (limitMs === Number.POSITIVE_INFINITY) return yield* answer
          return yield* Effect.interruptible(answer).pipe(
            Effect.timeoutTo({
              duration: limitMs,
              onSuccess: (done): Effect.Effect<A, GivenUp> => Effect.succeed(done),
              onTimeout: () => withdraw(isTaken),
            }),
            Effect.flatten,
          )
        }).pipe(Effect.uninterruptible),
    }
  })

const halvesOf = <A>(group: ReadonlyArray<A>) => Arr.splitAt(group, Math.ceil(group.length / 2))

const failAll = <Change>(group: Iterable<Waiting<Change>>, cause: Cause.Cause<never>) =>
  Effect.forEach(group, ({ fail }) => fail(cause), { discard: true })

const take = (isTaken: Ref.Ref<boolean>) =>
  Effect.map(Ref.getAndSet(isTaken, true), (wasTaken) => !wasTaken)

const withdraw = (isTaken: Ref.Ref<boolean>): Effect.Effect<never, GivenUp> =>
  Effect.flatMap(take(isTaken), (isFirst) => Effect.fail(isFirst ? "withdrawn" : "undecided"))
