import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as GroupCommit from "../src/sql/GroupCommit.ts"
import { ReconnectLimit, retryAfterDisconnection } from "../src/sql/retry.ts"

/** A commit that remembers what it was given. */
const recorder = () => {
  const commits: Array<ReadonlyArray<number>> = []
  const commit = (commands: ReadonlyArray<number>) =>
    Effect.sync(() => {
      commits.push(commands)
    })
  return { commits, commit }
}

/** One whose disk is busy until it is told to go on. */
const blockedRecorder = Effect.gen(function* () {
  const { commit, commits } = recorder()
  const started = yield* Deferred.make<void>()
  const disk = yield* Deferred.make<void>()
  return {
    commits,
    commit: (commands: ReadonlyArray<number>) =>
      Deferred.succeed(started, undefined).pipe(
        Effect.zipRight(Deferred.await(disk)),
        Effect.zipRight(commit(commands)),
      ),
    underWay: Deferred.await(started),
    goOn: Deferred.succeed(disk, undefined),
  }
})

/** Submits commands that have nothing to answer. */
const committing = (commit: (commands: ReadonlyArray<number>) => Effect.Effect<void>) =>
  Effect.map(
    GroupCommit.make(commit),
    (queue) => (command: number) =>
      GroupCommit.awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(command, callback)),
  )

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i)
const atOnce = { concurrency: "unbounded", discard: true } as const

/** Until whatever can happen without waiting has happened. */
const turnOfTheLoop = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))

describe("commands share commits", () => {
  it.scoped("those asked for in one turn share one, in the order of asking", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const submit = yield* committing(commit)
      yield* Effect.forEach(upTo(50), submit, atOnce)
      assert.deepStrictEqual(commits, [upTo(50)])
    }),
  )

  it.scoped("those asked for one after the other have one each", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const submit = yield* committing(commit)
      yield* Effect.forEach(upTo(3), submit)
      assert.deepStrictEqual(commits, [[0], [1], [2]])
    }),
  )

  it.scoped("those asked for while a commit is under way share the next", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const submit = yield* committing(commit)
      const first = yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(Effect.forEach([1, 2, 3], submit, atOnce))
      yield* turnOfTheLoop
      assert.deepStrictEqual(commits, [])
      yield* goOn
      yield* Fiber.joinAll([first, rest])
      assert.deepStrictEqual(commits, [[0], [1, 2, 3]])
    }),
  )

  it.scoped("a command has returned only when its commit has", () =>
    Effect.gen(function* () {
      const { commit, goOn, underWay } = yield* blockedRecorder
      const submit = yield* committing(commit)
      const asked = yield* Effect.fork(submit(0))
      yield* underWay
      yield* turnOfTheLoop
      assert.isTrue(Option.isNone(yield* Fiber.poll(asked)))
      yield* goOn
      yield* Fiber.join(asked)
    }),
  )

  it.scoped("more than one commit takes, all get their turn in order", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const submit = yield* committing(commit)
      const first = yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(Effect.forEach(upTo(9000), submit, atOnce))
      yield* turnOfTheLoop
      yield* goOn
      yield* Fiber.joinAll([first, rest])
      assert.strictEqual(commits.flat().join(), [0, ...upTo(9000)].join())
      assert.isAbove(commits.length, 2)
      assert.isBelow(commits.length, 100)
    }),
  )
})

describe("what goes wrong stays where it is", () => {
  it.scoped("a commit that dies takes its own commands with it, and the next one works", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const broken = new Error("the disk is full")
      const submit = yield* committing((commands: ReadonlyArray<number>) =>
        commands.includes(1) ? Effect.die(broken) : commit(commands),
      )
      const asked = (n: number) => Effect.exit(submit(n))
      const together = yield* Effect.forEach([0, 1, 2], asked, { concurrency: "unbounded" })
      assert.deepStrictEqual(together, Array(3).fill(Exit.die(broken)))
      assert.deepStrictEqual(yield* asked(3), Exit.void)
      assert.deepStrictEqual(commits, [[3]])
    }),
  )

  it.scoped("a callback that throws is called once, and harms nobody", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const queue = yield* GroupCommit.make(commit)
      let calls = 0
      queue.submit(0, () => {
        calls++
        throw new Error("a bug of the caller")
      })
      yield* GroupCommit.awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(1, callback))
      yield* GroupCommit.awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(2, callback))
      assert.deepStrictEqual(commits, [[0, 1], [2]])
      assert.strictEqual(calls, 1)
    }),
  )

  it.scoped("a caller that is interrupted while it waits takes nobody with it", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const submit = yield* committing(commit)
      const [leaving, staying] = [yield* Effect.fork(submit(0)), yield* Effect.fork(submit(1))]
      yield* Effect.yieldNow()
      const left = yield* Fiber.interrupt(leaving)
      assert.isTrue(Exit.isFailure(left) && Cause.isInterruptedOnly(left.cause))
      yield* Fiber.join(staying)
      yield* submit(2)
      assert.includeMembers(commits.flat(), [1, 2])
    }),
  )
})

describe("a command with a limit", () => {
  /** A queue whose first command is being committed; what the callers are told goes to `told`. */
  const busy = Effect.gen(function* () {
    const { commit, commits, goOn, underWay } = yield* blockedRecorder
    const queue = yield* GroupCommit.make(commit)
    const told: Array<readonly [command: number, said: string]> = []
    const submit = (command: number, limit?: number) =>
      queue.submit(
        command,
        (exit) =>
          void told.push([command, Exit.isSuccess(exit) ? "done" : Cause.pretty(exit.cause)]),
        limit,
      )
    submit(0, 1000)
    yield* underWay
    return { commits, goOn, submit, told }
  })

  it.scoped("that is queued past it is withdrawn, and never committed", () =>
    Effect.gen(function* () {
      const { commits, goOn, submit, told } = yield* busy
      submit(1, 2000)
      submit(2)
      submit(3, 60_000)
      yield* TestClock.adjust(1999)
      assert.deepStrictEqual(
        told.map(([command]) => command),
        [0],
      )
      yield* TestClock.adjust(251)
      assert.deepStrictEqual(
        told.map(([command]) => command),
        [0, 1],
      )
      assert.include(told[1]?.[1], "withdrawn")
      yield* goOn
      yield* turnOfTheLoop
      yield* turnOfTheLoop
      assert.deepStrictEqual(commits, [[0], [2, 3]])
      assert.deepStrictEqual(told.slice(2), [
        [2, "done"],
        [3, "done"],
      ])
    }),
  )

  it.scoped("whose commit is under way is undecided, and its caller is called once", () =>
    Effect.gen(function* () {
      const { commits, goOn, submit, told } = yield* busy
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(told, [])
      yield* TestClock.adjust(251)
      assert.lengthOf(told, 1)
      assert.include(told[0]?.[1], "undecided")
      submit(1)
      yield* TestClock.adjust(60_000)
      yield* goOn
      yield* turnOfTheLoop
      yield* turnOfTheLoop
      assert.deepStrictEqual(commits, [[0], [1]])
      assert.deepStrictEqual(told.slice(1), [[1, "done"]])
    }),
  )

  it.effect("is told to give up while the queue is closing too", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { commits, goOn, told } = yield* Scope.extend(busy, scope)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(1250)
      assert.lengthOf(told, 1)
      yield* goOn
      yield* Fiber.join(closing)
      assert.deepStrictEqual(commits, [[0]])
    }),
  )
})

describe("the end", () => {
  it.effect("closing waits for the commit under way, and commits what is queued", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const scope = yield* Scope.make()
      const submit = yield* Scope.extend(committing(commit), scope)
      const first = yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(Effect.forEach(upTo(1000), submit, atOnce))
      yield* turnOfTheLoop
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* turnOfTheLoop
      assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
      assert.deepStrictEqual(commits, [])
      yield* goOn
      yield* Fiber.join(closing)
      assert.deepStrictEqual(commits.flat(), [0, ...upTo(1000)])
      yield* Fiber.joinAll([first, rest])
    }),
  )

  it.effect("closing ends the wait for a database that is away", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const lost = Effect.fail(Object.assign(new Error("gone"), { code: "ECONNREFUSED" }))
      const submit = yield* Scope.extend(
        committing(() => Effect.orDie(retryAfterDisconnection(lost))),
        scope,
      ).pipe(Effect.provideService(ReconnectLimit, { limit: Duration.minutes(1) }))
      const first = yield* Effect.fork(submit(0))
      yield* turnOfTheLoop
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(first)))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* turnOfTheLoop
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(closing)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
    }),
  )

  it.effect("closing in the turn of the asking commits what was asked for", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const scope = yield* Scope.make()
      const submit = yield* Scope.extend(committing(commit), scope)
      const asked = yield* Effect.fork(submit(0))
      yield* Effect.yieldNow()
      assert.deepStrictEqual(commits, [])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(commits, [[0]])
      yield* Fiber.join(asked)
    }),
  )

  it.effect("who asks behind the closing is interrupted, and nobody is left waiting", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const scope = yield* Scope.make()
      const submit = yield* Scope.extend(committing(commit), scope)
      const first = yield* Effect.fork(submit(0))
      yield* Effect.yieldNow()
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* underWay
      const late = yield* Effect.fork(submit(1))
      yield* turnOfTheLoop
      yield* goOn
      yield* Fiber.join(first)
      yield* Fiber.join(closing)
      for (const exit of [yield* Fiber.await(late), yield* Effect.exit(submit(2))]) {
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      }
      assert.deepStrictEqual(commits, [[0]])
    }),
  )

  it.effect("closing with nothing queued commits nothing", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      yield* Effect.scoped(committing(commit))
      assert.deepStrictEqual(commits, [])
    }),
  )
})
