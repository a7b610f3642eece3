/**
 * Concurrent commands share one commit, and so one wait for the disk. Whatever is asked for while
 * a commit is under way, or in the same turn of the event loop, goes together into the next; a
 * lone command waits for nobody.
 */
import { clearImmediate, setImmediate } from "node:timers"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** How many commands one transaction takes. */
const batchSize = 512

/** How many commands may wait; past that, asking waits too. */
const capacity = 8192

interface Pending<Command> {
  readonly command: Command
  readonly committed: Deferred.Deferred<void>
}

/**
 * `commit` runs the commands in one transaction; it fails when one of them is at fault and nothing
 * was done, and dies when the store is at fault. What comes back submits a command and returns once it is committed, or
 * dies with `commit`. Closing the scope commits what is queued first.
 */
export const make = <Command, E>(
  commit: (commands: Arr.NonEmptyReadonlyArray<Command>) => Effect.Effect<void, E>,
): Effect.Effect<(command: Command) => Effect.Effect<void>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.bounded<Pending<Command> | "close">(capacity)

    const commitAll = (batch: Arr.NonEmptyReadonlyArray<Pending<Command>>) =>
      Effect.catchAll(
        Effect.zipRight(commit(Arr.map(batch, ({ command }) => command)), answer(batch, Exit.void)),
        (error) =>
          batch.length === 1
            ? Effect.die(error)
            : // One command's fault is not its neighbours': each by itself, in order.
              Effect.forEach(batch, (pending) => commitBatch([pending])),
      )

    const commitBatch = (batch: ReadonlyArray<Pending<Command>>): Effect.Effect<void> =>
      Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.catchAllCause(commitAll(batch), (cause) => answer(batch, Exit.failCause(cause)))
        : Effect.void

    const step = Effect.gen(function* () {
      const first = yield* Queue.take(queue)
      yield* endOfTurn
      const taken = [first, ...(yield* Queue.takeUpTo(queue, batchSize - 1))]
      yield* commitBatch(taken.filter((pending) => pending !== "close"))
      return taken.includes("close")
    })
    // A daemon, for it must outlive interruption of whoever waits, until the queue is closed.
    const worker = yield* Effect.forkDaemon(Effect.repeat(step, { until: (closed) => closed }))
    yield* Effect.addFinalizer(() =>
      Queue.offer(queue, "close").pipe(
        Effect.zipRight(Fiber.await(worker)),
        // Whoever still asks has outlived the store.
        Effect.zipRight(Queue.shutdown(queue)),
      ),
    )

    return (command) =>
      Effect.gen(function* () {
        const committed = yield* Deferred.make<void>()
        yield* Queue.offer(queue, { command, committed })
        yield* Deferred.await(committed)
      })
  })

const answer = <Command>(batch: ReadonlyArray<Pending<Command>>, exit: Exit.Exit<void>) =>
  Effect.sync(() => batch.forEach(({ committed }) => Deferred.unsafeDone(committed, exit)))

const endOfTurn = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
