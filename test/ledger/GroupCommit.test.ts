import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import * as GroupCommit from "../../src/ledger/GroupCommit.ts"
import { settable } from "../support/SettableClock.ts"

interface Change {
  readonly number: number
  readonly answer: GroupCommit.Answer
}
type Commit = (changes: ReadonlyArray<number>) => Effect.Effect<unknown, StoreFailure>

const withdrawn: Exit.Exit<string, GroupCommit.GivenUp> = Exit.fail("withdrawn")
const undecided: Exit.Exit<string, GroupCommit.GivenUp> = Exit.fail("undecided")
const forever = Number.POSITIVE_INFINITY

/** Makes a group commit, and returns a function that submits a change and waits for its commit. */
const committing = (commit: Commit) =>
  Effect.map(
    GroupCommit.make((changes: ReadonlyArray<Change>) =>
      Effect.as(
        commit(changes.map(({ number }) => number)),
        changes.map(({ answer }) => answer),
      ),
    ),
    ({ submit }) =>
      (number: number, limitMs = forever) =>
        submit<string, never>(
          (answer) => ({ number, answer: answer(Exit.succeed(`done ${number}`)) }),
          limitMs,
        ),
  )

/** A commit that records its changes. */
const recorder = Effect.map(Ref.make<ReadonlyArray<ReadonlyArray<number>>>([]), (commits) => ({
  commits: Ref.get(commits),
  commit: (changes: ReadonlyArray<number>) => Ref.update(commits, (all) => [...all, changes]),
}))

/** A recorder whose commits block until `goOn`. `underWay` completes when a commit has started. */
const blockedRecorder = Effect.gen(function* () {
  const { commit, commits } = yield* recorder
  const started = yield* Deferred.make<void>()
  const disk = yield* Deferred.make<void>()
  return {
    commits,
    commit: (changes: ReadonlyArray<number>) =>
      Deferred.succeed(started, undefined).pipe(
        Effect.zipRight(Deferred.await(disk)),
        Effect.zipRight(commit(changes)),
      ),
    underWay: Deferred.await(started),
    goOn: Deferred.succeed(disk, undefined),
  }
})

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i)
const atOnce = { concurrency: "unbounded" } as const

/** Waits until everything that is ready has run. */
const turnOfTheLoop = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))

describe("changes that share a commit", () => {
  it.scoped("sequential changes get one commit each", () =>
    Effect.gen(function* () {
      const { commit, commits } = yield* recorder
      const submit = yield* committing(commit)
      assert.deepStrictEqual(yield* Effect.forEach(upTo(3), (n) => submit(n)), [
        "done 0",
        "done 1",
        "done 2",
      ])
      assert.deepStrictEqual(yield* commits, [[0], [1], [2]])
    }),
  )

  it.scoped(
    "changes that arrive during a commit share the next one, and each gets its answer",
    () =>
      Effect.gen(function* () {
        const { commit, commits, goOn, underWay } = yield* blockedRecorder
        const submit = yield* committing(commit)
        const first = yield* Effect.fork(submit(0))
        yield* underWay
        const rest = yield* Effect.fork(Effect.forEach([1, 2, 3], (n) => submit(n), atOnce))
        yield* turnOfTheLoop
        assert.isTrue(Option.isNone(yield* Fiber.poll(first)))
        yield* goOn
        assert.deepStrictEqual(yield* Fiber.join(rest), ["done 1", "done 2", "done 3"])
        assert.deepStrictEqual(yield* commits, [[0], [1, 2, 3]])
      }),
  )

  it.scoped("thousands of changes are split into commits of 512 at most, in order", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const submit = yield* committing(commit)
      const first = yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(Effect.forEach(upTo(2000), (n) => submit(n), atOnce))
      yield* turnOfTheLoop
      yield* goOn
      yield* Fiber.join(first)
      yield* Fiber.join(rest)
      const all = yield* commits
      assert.deepStrictEqual(all.flat(), [0, ...upTo(2000)])
      assert.deepStrictEqual(
        all.map(({ length }) => length),
        [1, 512, 512, 512, 464],
      )
    }),
  )
})

describe("failures that affect only their own change", () => {
  it.scoped("a commit that dies fails all its changes, and the next commit succeeds", () =>
    Effect.gen(function* () {
      const { commit, commits } = yield* recorder
      const broken = new Error("the disk is full")
      const { goOn, underWay, ...blocked } = yield* blockedRecorder
      const submit = yield* committing((changes) =>
        changes.includes(0)
          ? blocked.commit(changes)
          : changes.includes(1)
            ? Effect.die(broken)
            : commit(changes),
      )
      yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(Effect.forEach([1, 2], (n) => Effect.exit(submit(n)), atOnce))
      yield* turnOfTheLoop
      yield* goOn
      assert.deepStrictEqual(yield* Fiber.join(rest), [Exit.die(broken), Exit.die(broken)])
      yield* submit(3)
      assert.deepStrictEqual(yield* commits, [[3]])
    }),
  )

  it.scoped("a change that causes an error fails alone", () =>
    Effect.gen(function* () {
      const { commit, commits, goOn, underWay } = yield* blockedRecorder
      const refused = new StoreFailure({ message: "refused" })
      const submit = yield* committing((changes) =>
        changes.includes(3) ? Effect.fail(refused) : commit(changes),
      )
      yield* Effect.fork(submit(0))
      yield* underWay
      const rest = yield* Effect.fork(
        Effect.forEach([1, 2, 3, 4, 5], (n) => Effect.exit(submit(n)), atOnce),
      )
      yield* turnOfTheLoop
      yield* goOn
      const exits = yield* Fiber.join(rest)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true])
      assert.deepStrictEqual(exits[2], Exit.die(refused))
      assert.deepStrictEqual((yield* commits).flat(), [0, 1, 2, 4, 5])
    }),
  )

  it.scoped("a change is committed even if its caller is interrupted", () =>
    Effect.gen(function* () {
      const { commit, commits } = yield* recorder
      const submit = yield* committing(commit)
      const leaving = yield* Effect.fork(submit(0))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(leaving)
      yield* submit(1)
      assert.deepStrictEqual((yield* commits).flat(), [0, 1])
    }),
  )
})

describe("a change with a time limit", () => {
  /** A group commit whose first commit takes a second and is under way. */
  const busy = Effect.gen(function* () {
    const { commit, commits, goOn, underWay } = yield* blockedRecorder
    const submit = yield* committing(commit)
    const exitOf = (number: number, limitMs?: number) =>
      Effect.fork(Effect.exit(submit(number, limitMs)))
    const first = yield* exitOf(0, 1000)
    yield* underWay
    return { commits, goOn, first, exitOf }
  })

  it.scoped(
    "a change that is still waiting at its time limit is withdrawn and never committed",
    () =>
      Effect.gen(function* () {
        const { commits, exitOf, goOn } = yield* busy
        const [one, two] = [yield* exitOf(1, 2000), yield* exitOf(2)]
        yield* turnOfTheLoop
        yield* TestClock.adjust(1999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(one)))
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(one), withdrawn)
        yield* goOn
        assert.deepStrictEqual(yield* Fiber.join(two), Exit.succeed("done 2"))
        assert.deepStrictEqual(yield* commits, [[0], [2]])
      }),
  )

  it.scoped("a change whose commit has not ended at its time limit is undecided", () =>
    Effect.gen(function* () {
      const { commits, exitOf, first, goOn } = yield* busy
      yield* TestClock.adjust(999)
      assert.isTrue(Option.isNone(yield* Fiber.poll(first)))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(first), undecided)
      const next = yield* exitOf(1)
      yield* goOn
      yield* Fiber.join(next)
      assert.deepStrictEqual(yield* commits, [[0], [1]])
    }),
  )

  for (const change of ["putBack", "putForward"] as const) {
    it.scoped(`a clock that is ${change} during a commit does not move the time limit`, () =>
      Effect.gen(function* () {
        const { adjust, clock, ...wall } = yield* settable
        const { exitOf, first, goOn } = yield* Effect.withClock(busy, clock)
        const second = yield* Effect.withClock(exitOf(1, 1000), clock)
        yield* turnOfTheLoop
        wall[change]("1 hour")
        yield* adjust(999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
        yield* adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(first), undecided)
        assert.deepStrictEqual(yield* Fiber.join(second), withdrawn)
        yield* goOn
      }),
    )
  }
})

/** A group commit with its own scope, in the middle of its first commit. */
const busyCommit = Effect.gen(function* () {
  const { commit, commits, goOn, underWay } = yield* blockedRecorder
  const scope = yield* Scope.make()
  const submit = yield* Scope.extend(committing(commit), scope)
  const first = yield* Effect.fork(submit(0))
  yield* underWay
  return { commits, first, goOn, scope, submit }
})

describe("closing the group commit", () => {
  it.effect(
    "closing the group commit waits for the current commit and commits the waiting changes",
    () =>
      Effect.gen(function* () {
        const { commits, first, goOn, scope, submit } = yield* busyCommit
        const rest = yield* Effect.fork(Effect.forEach(upTo(1000), (n) => submit(n), atOnce))
        yield* turnOfTheLoop
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* turnOfTheLoop
        assert.isTrue(Option.isNone(yield* Fiber.poll(closing)))
        yield* goOn
        yield* Fiber.join(closing)
        assert.deepStrictEqual((yield* commits).flat(), [0, ...upTo(1000)])
        yield* Fiber.join(first)
        yield* Fiber.join(rest)
      }),
  )

  it.effect(
    "a change that is submitted while the group commit closes, or later, is interrupted",
    () =>
      Effect.gen(function* () {
        const { commits, first, goOn, scope, submit } = yield* busyCommit
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* turnOfTheLoop
        yield* goOn
        yield* Fiber.join(first)
        yield* Fiber.join(closing)
        const late = yield* Effect.exit(submit(2))
        assert.isTrue(Exit.isFailure(late) && Cause.isInterruptedOnly(late.cause))
        assert.deepStrictEqual(yield* commits, [[0]])
      }),
  )

  it.effect("closing a group commit without changes commits nothing", () =>
    Effect.gen(function* () {
      const { commit, commits } = yield* recorder
      yield* Effect.scoped(committing(commit))
      assert.deepStrictEqual(yield* commits, [])
    }),
  )
})
