/** Tests that only a dead process loses its holds and keys when processes share a database. */
import { assert, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestServices from "effect/TestServices"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import { Heartbeat, layer as heartbeatLayer, make } from "../../src/sql/Heartbeat.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import {
  chargeAtOnce,
  expire,
  figures,
  hold,
  newHold,
  open,
  problemsOf,
  settle,
} from "../../scripts/support/ledger.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import { settable } from "../support/SettableClock.ts"
import { lease, stores } from "../support/Stores.ts"

/** Starts another process on the store. It beats only when the test calls `beat`. */
const newProcess = Effect.gen(function* () {
  const context = yield* Layer.build(
    Layer.provideMerge(SqlCreditLedger.layer({ lease }), Layer.effect(Heartbeat, make)),
  )
  const { beat, owner, trouble } = Context.get(context, Heartbeat)
  yield* beat
  return { beat, context, owner, trouble, sweep: Effect.provide(expire, context) }
})

type Process = Effect.Effect.Success<typeof newProcess>

/** Advances two seconds. Then each process beats and sweeps. Returns the number of expired holds. */
const pass = (...alive: ReadonlyArray<Process>) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("2 seconds")
    yield* Effect.forEach(alive, ({ beat }) => beat)
    const ended = yield* Effect.all(
      alive.map(({ sweep }) => sweep),
      { concurrency: "unbounded" },
    )
    return ended.reduce((sum, count) => sum + count, 0)
  })

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly id: string }>`SELECT id FROM processes`, (found) =>
    found.map(({ id }) => id),
  ),
)

const tag = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.either(effect), (either) => (Either.isLeft(either) ? either.left._tag : "done"))

for (const [name, store] of stores) {
  layer(store)(`processes on ${name}`, (it) => {
    it.scoped(
      "the holds, idempotency keys and heartbeat row of a dead process are deleted after six seconds",
      () =>
        Effect.gen(function* () {
          const [gone, one, other] = [yield* newProcess, yield* newProcess, yield* newProcess]
          const account = yield* newAccountWith(20)
          const named = newHold(account, 4, { key: "list-1", fingerprint: "question" })
          yield* Effect.provide(open(named), gone.context)
          yield* Effect.provide(hold(account, 3), gone.context)
          const kept = yield* Effect.provide(hold(account, 2), other.context)
          const again = newHold(account, 4, { key: "list-1", fingerprint: "question" })
          const repeat = Effect.provide(tag(open(again)), one.context)

          yield* one.sweep
          yield* other.sweep
          for (let i = 0; i < 2; i++) {
            assert.strictEqual(yield* pass(one, other), 0)
            assert.strictEqual(yield* repeat, "IdempotencyKeyInUse")
          }
          assert.strictEqual(yield* pass(one, other), 2)
          assert.strictEqual((yield* figures(account)).held, 2)
          assert.notInclude(yield* rows, gone.owner)
          assert.includeMembers(yield* rows, [one.owner, other.owner])
          assert.strictEqual(yield* repeat, "done")
          yield* Effect.provide(settle(kept, 2), other.context)
          assert.deepInclude(yield* figures(account), { charged: 2, held: 4 })
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }),
    )

    it.scoped(
      "a process that was frozen while another process released its holds cannot settle these holds, but can open and settle new holds",
      () =>
        Effect.gen(function* () {
          const [frozen, other] = [yield* newProcess, yield* newProcess]
          const account = yield* newAccountWith(20)
          const question = { key: "list-2", fingerprint: "question" }
          const named = newHold(account, 4, question)
          const freed = newHold(account, 1, { key: "list-3", fingerprint: "question" })
          yield* Effect.provide(open(named), frozen.context)
          yield* Effect.provide(open(freed), frozen.context)
          const unnamed = yield* Effect.provide(hold(account, 3), frozen.context)
          yield* other.sweep
          for (let i = 0; i < 3; i++) yield* pass(other)
          assert.strictEqual((yield* figures(account)).held, 0)
          const taken = newHold(account, 4, question)
          yield* Effect.provide(open(taken), other.context)

          for (const late of [named, freed, unnamed]) {
            const settled = settle(late, 1, "too late")
            assert.strictEqual(yield* Effect.provide(tag(settled), frozen.context), "HoldExpired")
          }
          assert.deepInclude(yield* figures(account), { charged: 0, held: 4 })
          yield* Effect.provide(settle(taken, 4, "the answer"), other.context)
          const replay = Effect.provide(open(newHold(account, 4, question)), frozen.context)
          assert.strictEqual(yield* replay, "the answer")

          const next = yield* Effect.provide(hold(account, 5), frozen.context)
          for (let i = 0; i < 5; i++) assert.strictEqual(yield* pass(frozen, other), 0)
          assert.includeMembers(yield* rows, [frozen.owner, other.owner])
          yield* Effect.provide(settle(next, 5), frozen.context)
          assert.deepInclude(yield* figures(account), { charged: 9, held: 0 })
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }),
    )

    it.scoped("processes that all paused at the same time are not considered dead", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* newProcess, yield* newProcess]
        const account = yield* newAccountWith(5)
        yield* Effect.provide(hold(account, 5), one.context)
        yield* other.sweep
        // The machine or the database was suspended, for all processes.
        yield* TestClock.adjust("30 seconds")
        for (let i = 0; i < 2; i++) assert.strictEqual(yield* other.sweep, 0)
        assert.strictEqual((yield* figures(account)).held, 5)
        for (let i = 0; i < 3; i++) yield* pass(other)
        assert.strictEqual((yield* figures(account)).held, 0)
      }),
    )

    it.scoped(
      "a process that missed a heartbeat before a short outage is not considered dead",
      () =>
        Effect.gen(function* () {
          const [one, other] = [yield* newProcess, yield* newProcess]
          const account = yield* newAccountWith(5)
          yield* Effect.provide(hold(account, 5), one.context)
          yield* other.sweep
          yield* pass(other)
          // For 4 seconds, no process reaches the database. Then `other` sweeps before `one` beats.
          yield* TestClock.adjust("4 seconds")
          assert.strictEqual(yield* other.sweep, 0)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* other.sweep, 0)
          yield* one.beat
          assert.strictEqual(yield* pass(one, other), 0)
          assert.strictEqual((yield* figures(account)).held, 5)
        }),
    )

    it.scoped(
      "a process keeps the interval of its heartbeats even when its clock is set back",
      () =>
        Effect.gen(function* () {
          const { adjust, clock, putBack } = yield* settable
          const { owner } = Context.get(
            yield* Layer.build(heartbeatLayer).pipe(Effect.withClock(clock)),
            Heartbeat,
          )
          const { sleeps } = yield* TestClock.testClock()
          const asleep = eventually(
            "the process sleeps",
            Effect.map(sleeps, Chunk.isNonEmpty),
          ).pipe(TestServices.provideLive)
          yield* asleep
          putBack("3599 seconds")
          // In small steps: the process sleeps between its beats, but also after a conflict.
          for (let passedMs = 0; passedMs < 6500; passedMs += 100) {
            yield* adjust("100 millis")
            yield* asleep
          }
          const sql = yield* SqlClient.SqlClient
          const [row] = yield* sql<{
            readonly beats: number
          }>`SELECT beats FROM processes WHERE id = ${owner}`
          // A beat that is repeated after a conflict counts twice.
          assert.isAtLeast(Number(row?.beats), 4)
        }),
    )

    it.scoped(
      "a process without a heartbeat row counts as dead; a hold without an owner keeps its lease",
      () =>
        Effect.gen(function* () {
          const [rowless, other] = [yield* newProcess, yield* newProcess]
          const account = yield* newAccountWith(5)
          yield* Effect.provide(hold(account, 2), rowless.context)
          yield* hold(account, 3)
          yield* Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`DELETE FROM processes WHERE id = ${rowless.owner}`,
          )
          yield* other.sweep
          for (let i = 0; i < 3; i++) yield* pass(other)
          assert.strictEqual((yield* figures(account)).held, 3)
          for (let i = 0; i < 27; i++) yield* pass(other)
          assert.strictEqual((yield* figures(account)).held, 0)
        }),
    )

    it.scoped(
      "a process reports a problem when none of its writes, including its heartbeats, has been committed for more than ten seconds",
      () =>
        Effect.gen(function* () {
          const { context, trouble } = yield* newProcess
          const account = yield* newAccountWith(5)
          assert.isUndefined(trouble())
          yield* TestClock.adjust("8 seconds")
          yield* Effect.provide(chargeAtOnce(newHold(account, 1), 1), context)
          yield* TestClock.adjust("10 seconds")
          assert.isUndefined(trouble())
          yield* TestClock.adjust("1 millis")
          assert.strictEqual(trouble(), "no commit in the last 10 seconds")
        }),
    )
  })
}
