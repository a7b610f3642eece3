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
import { awaited } from "../../src/Direct.ts"
import * as GroupCommit from "../../src/ledger/GroupCommit.ts"
import { settable } from "../support/SettableClock.ts"
import { ReconnectLimit, retryAfterDisconnection } from "../../src/sql/retry.ts"

/** A commit that records its commands. */
const recorder = () => {
  const commits: Array<ReadonlyArray<number>> = []
  const commit = (commands: ReadonlyArray<number>) =>
    Effect.sync(() => {
      commits.push(commands)
    })
  return { commits, commit }
}

/** A recorder whose commits block until `goOn`. `underWay` returns when a commit has started. */
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

/** Creates a queue and returns a function that submits a command and waits for its commit. */
const committing = (commit: (commands: ReadonlyArray<number>) => Effect.Effect<void>) =>
  Effect.map(
    GroupCommit.make(commit),
    (queue) => (command: number) =>
      awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(command, callback)),
  )

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i)
const atOnce = { concurrency: "unbounded", discard: true } as const

/** Waits until everything that is ready has run. */
const turnOfTheLoop = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))

describe("the ledger commands that share a commit", () => {
  it.scoped(
    "ledger commands of one event-loop turn share a commit, in the order of submission",
    () =>
      Effect.gen(function* () {
        const { commit, commits } = recorder()
        const submit = yield* committing(commit)
        yield* Effect.forEach(upTo(50), submit, atOnce)
        assert.deepStrictEqual(commits, [upTo(50)])
      }),
  )

  it.scoped("sequential ledger commands have one commit each", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const submit = yield* committing(commit)
      yield* Effect.forEach(upTo(3), submit)
      assert.deepStrictEqual(commits, [[0], [1], [2]])
    }),
  )

  it.scoped("ledger commands that are submitted during a commit share the next commit", () =>
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

  it.scoped("a queued ledger command returns only after its commit", () =>
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

  it.scoped("ledger commands that keep arriving wait at most 15 ms for each other", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      const testClock = yield* Effect.clock
      let nanos = 0n
      const clock = { ...testClock, unsafeCurrentTimeNanos: () => nanos }
      const turns: Array<() => void> = []
      const queue = yield* GroupCommit.make(commit).pipe(
        Effect.withClock(clock),
        Effect.provideService(GroupCommit.NextTurn, { run: (turn) => void turns.push(turn) }),
      )
      queue.submit(0, () => {})
      yield* turnOfTheLoop
      for (const command of [1, 2, 3, 4]) {
        assert.deepStrictEqual(commits, [])
        queue.submit(command, () => {})
        nanos += 4_000_000n
        turns.shift()?.()
        yield* turnOfTheLoop
      }
      assert.deepStrictEqual(commits, [[0, 1, 2, 3, 4]])
    }),
  )

  it.scoped("many queued ledger commands are split into several commits, in order", () =>
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

describe("isolated failures", () => {
  it.scoped("a commit that dies fails all its ledger commands, and the next commit succeeds", () =>
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

  it.scoped(
    "a callback that throws is called once, and other ledger commands are not affected",
    () =>
      Effect.gen(function* () {
        const { commit, commits } = recorder()
        const queue = yield* GroupCommit.make(commit)
        let calls = 0
        queue.submit(0, () => {
          calls++
          throw new Error("a bug of the caller")
        })
        yield* awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(1, callback))
        yield* awaited<void, GroupCommit.GivenUp>((callback) => queue.submit(2, callback))
        assert.deepStrictEqual(commits, [[0, 1], [2]])
        assert.strictEqual(calls, 1)
      }),
  )

  it.scoped("an interrupted caller of the commit queue does not affect other callers", () =>
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

describe("a command with a time limit", () => {
  /** A queue that is committing its first command. `results` has the results of all callbacks. */
  const busy = Effect.gen(function* () {
    const { commit, commits, goOn, underWay } = yield* blockedRecorder
    const queue = yield* GroupCommit.make(commit)
    const results: Array<readonly [command: number, result: string]> = []
    const submit = (command: number, limit?: number) =>
      queue.submit(
        command,
        (exit) =>
          void results.push([command, Exit.isSuccess(exit) ? "done" : Cause.pretty(exit.cause)]),
        limit,
      )
    submit(0, 1000)
    yield* underWay
    return { commits, goOn, results, submit }
  })

  it.scoped(
    'a ledger command that is still queued at its time limit gets the error "withdrawn" and is never committed',
    () =>
      Effect.gen(function* () {
        const { commits, goOn, results, submit } = yield* busy
        submit(1, 2000)
        submit(2)
        submit(3, 60_000)
        yield* TestClock.adjust(1999)
        assert.deepStrictEqual(
          results.map(([command]) => command),
          [0],
        )
        yield* TestClock.adjust(251)
        assert.deepStrictEqual(
          results.map(([command]) => command),
          [0, 1],
        )
        assert.include(results[1]?.[1], "withdrawn")
        yield* goOn
        yield* turnOfTheLoop
        yield* turnOfTheLoop
        assert.deepStrictEqual(commits, [[0], [2, 3]])
        assert.deepStrictEqual(results.slice(2), [
          [2, "done"],
          [3, "done"],
        ])
      }),
  )

  it.scoped(
    'a ledger command whose commit is not finished at the time limit of the command gets one result, the error "undecided"',
    () =>
      Effect.gen(function* () {
        const { commits, goOn, results, submit } = yield* busy
        yield* TestClock.adjust(999)
        assert.deepStrictEqual(results, [])
        yield* TestClock.adjust(251)
        assert.lengthOf(results, 1)
        assert.include(results[0]?.[1], "undecided")
        submit(1)
        yield* TestClock.adjust(5000)
        yield* goOn
        yield* turnOfTheLoop
        yield* turnOfTheLoop
        assert.deepStrictEqual(commits, [[0], [1]])
        assert.deepStrictEqual(results.slice(1), [[1, "done"]])
      }),
  )

  for (const change of ["putBack", "putForward"] as const) {
    it.scoped(`a clock that is ${change} during a commit does not move the time limit`, () =>
      Effect.gen(function* () {
        const { adjust, clock, ...wall } = yield* settable
        const { goOn, results, submit } = yield* Effect.withClock(busy, clock)
        submit(1, 1000)
        wall[change]("1 hour")
        yield* adjust(999)
        const before = results.length
        yield* adjust(251)
        const after = results.map(([command, result]) => `${command}: ${result}`)
        yield* goOn
        assert.strictEqual(before, 0)
        assert.lengthOf(after, 2)
        assert.match(after[0] ?? "", /1: .*withdrawn/)
        assert.match(after[1] ?? "", /0: .*undecided/)
      }),
    )
  }

  it.effect("a ledger command times out at its limit even while the commit queue closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { commits, goOn, results } = yield* Scope.extend(busy, scope)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(1250)
      assert.lengthOf(results, 1)
      yield* goOn
      yield* Fiber.join(closing)
      assert.deepStrictEqual(commits, [[0]])
    }),
  )
})

describe("closing the commit queue", () => {
  it.effect(
    "closing the commit queue waits for the current commit and commits the queued commands",
    () =>
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

  it.effect(
    "closing the commit queue stops the retries of a commit to an unreachable database",
    () =>
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

  it.effect(
    "a ledger command that is submitted just before the commit queue closes is committed",
    () =>
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

  it.effect(
    "a ledger command that is submitted after the commit queue has closed is interrupted",
    () =>
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

  it.effect("closing a commit queue without commands commits nothing", () =>
    Effect.gen(function* () {
      const { commit, commits } = recorder()
      yield* Effect.scoped(committing(commit))
      assert.deepStrictEqual(commits, [])
    }),
  )
})
