/**
 * Tests random sequences of requests, crashes, late owners and repeats on every store. The stores
 * must agree with a simple model after each step.
 */
import { assert, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { AccountId } from "../../src/accounts/Account.ts"
import { type Hold, retentionMs } from "../../src/ledger/Hold.ts"
import type { RequestId } from "../../src/check/RequestId.ts"
import { newAccount } from "../../scripts/support/accounts.ts"
import {
  chargeAtOnce,
  expire,
  figures,
  grant,
  newHold,
  open,
  problemsOf,
  release,
  settle,
  statement,
} from "../../scripts/support/ledger.ts"
import { elapse, lastingStores, lease, type Ports } from "../support/Stores.ts"
import { runs } from "../support/properties.ts"

/** The layer that each process of a store builds. */
class Store extends Context.Tag("test/Store")<
  Store,
  Layer.Layer<Ports | SqlClient.SqlClient, unknown>
>() {}

/** `of` selects one of the requests so far; `share` is the charged part of its hold. */
const [of, share] = [fc.nat(1000), fc.constantFrom(0, 0.5, 1)]
const amount = fc.integer({ min: 1, max: 20 })
const key = fc.constantFrom(undefined, "one", "one", "two")
const fingerprint = fc.constantFrom("question", "question", "question", "another question")
const duration = fc
  .constantFrom<Duration.DurationInput>("20 seconds", lease, lease, lease, "1 day")
  .map(Duration.decode)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("grant" as const), amount }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("request" as const), amount, key, fingerprint }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("settle" as const), of, share }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("charge" as const), amount, share, key, fingerprint }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), of }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), duration }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const) }) },
  // These steps select any request, even one that is settled or whose process has crashed.
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("settle again" as const), of, share }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release again" as const), of }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("open again" as const), of }) },
)
type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

interface Named {
  readonly requestId: RequestId
  readonly fingerprint: string
  readonly expiresAt: number
  readonly body: string | undefined
}

const answerTo = (requestId: RequestId) => `the answer to ${requestId}`

/** True when a record still counts: a stored answer is replayed until a sweep deletes it. */
const isKept = ({ body, expiresAt }: Named, now: number) => body !== undefined || expiresAt > now

/** A simple model of the ledger's rules. */
class Model {
  granted = 0
  charged = 0
  readonly entries: Array<readonly [requestId: RequestId | null, amount: number]> = []
  readonly holds = new Map<RequestId, { readonly amount: number; readonly expiresAt: number }>()
  readonly named = new Map<string, Named>()
  /** The open holds of the current process, and all holds of all processes. */
  inHand: Array<Hold> = []
  readonly ever: Array<Hold> = []
  /** The time of the first sweep of the current process. Ten minutes later it deletes answers. */
  steadySince: number | undefined

  get held() {
    return [...this.holds.values()].reduce((sum, { amount }) => sum + amount, 0)
  }

  get available() {
    return this.granted - this.charged - this.held
  }

  /** Returns the stored answer or the error's tag, or undefined when the hold is open. */
  open(hold: Hold, now: number): string | undefined {
    const refusal = this.refusal(hold, now)
    if (refusal !== undefined || this.holds.has(hold.requestId)) return refusal
    this.endFormer(hold)
    if (hold.amount > this.available) return "InsufficientCredits"
    const expiresAt = now + Duration.toMillis(lease)
    this.holds.set(hold.requestId, { amount: hold.amount, expiresAt })
    this.name(hold, undefined, expiresAt)
    return undefined
  }

  settle(hold: Hold, amount: number, now: number): boolean {
    const wasOpen = this.holds.delete(hold.requestId)
    if (!wasOpen) return false
    const { idempotencyKey, requestId } = hold
    if (idempotencyKey !== undefined) {
      if (this.named.get(idempotencyKey.key)?.requestId !== requestId) return false
      this.name(hold, answerTo(requestId), now + retentionMs)
    }
    this.charge(requestId, amount)
    return true
  }

  chargeAtOnce(hold: Hold, amount: number, now: number): string | undefined {
    const refusal = this.refusal(hold, now)
    if (refusal !== undefined) return refusal
    this.endFormer(hold)
    if (hold.amount > this.available) return "InsufficientCredits"
    this.name(hold, answerTo(hold.requestId), now + retentionMs)
    this.charge(hold.requestId, amount)
    return undefined
  }

  /** The hold that previously had the key ends with its lease, even before a sweep. */
  private endFormer({ idempotencyKey, requestId }: Hold) {
    const former = this.named.get(idempotencyKey?.key ?? "")
    if (former !== undefined && former.requestId !== requestId) this.holds.delete(former.requestId)
  }

  release({ idempotencyKey, requestId }: Hold) {
    this.holds.delete(requestId)
    if (idempotencyKey === undefined) return
    const named = this.named.get(idempotencyKey.key)
    if (named?.requestId === requestId && named.body === undefined) {
      this.named.delete(idempotencyKey.key)
    }
  }

  /**
   * Returns whether the request may be repeated. A request id is charged once only while the record
   * of its key is kept. A commit is retried for seconds at most, so no request is repeated after
   * its lease.
   */
  mayBeRepeated({ idempotencyKey, requestId }: Hold, now: number): boolean {
    if (idempotencyKey === undefined) return false
    if ((this.holds.get(requestId)?.expiresAt ?? Infinity) <= now) return false
    const record = this.named.get(idempotencyKey.key)
    const isCharged = this.entries.some(([charged]) => charged === requestId)
    return !isCharged || (record !== undefined && isKept(record, now))
  }

  private refusal({ idempotencyKey, requestId }: Hold, now: number): string | undefined {
    if (idempotencyKey === undefined) return undefined
    const former = this.named.get(idempotencyKey.key)
    if (former === undefined || !isKept(former, now)) return undefined
    if (former.fingerprint !== idempotencyKey.fingerprint) return "IdempotencyKeyReused"
    return former.body ?? (former.requestId === requestId ? undefined : "IdempotencyKeyInUse")
  }

  private name({ idempotencyKey, requestId }: Hold, body: string | undefined, expiresAt: number) {
    if (idempotencyKey === undefined) return
    const { fingerprint, key } = idempotencyKey
    this.named.set(key, { requestId, fingerprint, expiresAt, body })
  }

  charge(requestId: RequestId, amount: number) {
    this.charged += amount
    if (amount > 0) this.entries.push([requestId, amount])
  }

  /** Removes expired holds and keys. Returns the number of expired holds. */
  sweep(now: number): number {
    const isOver = ([, { expiresAt }]: readonly [unknown, { readonly expiresAt: number }]) =>
      expiresAt <= now
    this.steadySince ??= now
    const isSteady = now - this.steadySince >= 10 * 60_000
    for (const [key, { body }] of [...this.named].filter(isOver)) {
      if (body === undefined || isSteady) this.named.delete(key)
    }
    const over = [...this.holds].filter(isOver)
    for (const [requestId] of over) this.holds.delete(requestId)
    return over.length
  }
}

/** Returns the stored answer, the error's tag, or undefined. */
const outcome = <E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<string | undefined, E, R>,
) => Effect.catchAll(effect, ({ _tag }) => Effect.succeed(_tag))

const holdOf = (
  accountId: AccountId,
  { amount, fingerprint, key }: Extract<Step, { kind: "request" | "charge" }>,
) => newHold(accountId, amount, key === undefined ? undefined : { key, fingerprint })

const openHold = (model: Model, hold: Hold) =>
  Effect.gen(function* () {
    const answer = yield* outcome(open(hold))
    assert.strictEqual(answer, model.open(hold, yield* Clock.currentTimeMillis))
    if (answer === undefined && !model.ever.includes(hold)) {
      model.inHand.push(hold)
      model.ever.push(hold)
    }
  })

const settleOne = (model: Model, holds: ReadonlyArray<Hold>, of: number, share: number) =>
  Effect.gen(function* () {
    const hold = holds[of % holds.length]
    if (hold === undefined) return
    const amount = Math.floor(hold.amount * share)
    const settled = yield* Effect.either(settle(hold, amount, answerTo(hold.requestId)))
    model.inHand = model.inHand.filter((one) => one !== hold)
    const now = yield* Clock.currentTimeMillis
    assert.strictEqual(Either.isRight(settled), model.settle(hold, amount, now))
  })

const releaseOne = (model: Model, holds: ReadonlyArray<Hold>, of: number) =>
  Effect.gen(function* () {
    const hold = holds[of % holds.length]
    if (hold === undefined) return
    yield* release(hold)
    model.release(hold)
    model.inHand = model.inHand.filter((one) => one !== hold)
  })

const charge = (model: Model, hold: Hold, share: number) =>
  Effect.gen(function* () {
    const amount = Math.floor(hold.amount * share)
    const answer = yield* outcome(chargeAtOnce(hold, amount, answerTo(hold.requestId)))
    assert.strictEqual(answer, model.chargeAtOnce(hold, amount, yield* Clock.currentTimeMillis))
  })

const sweep = (model: Model) =>
  Effect.gen(function* () {
    const swept = yield* expire
    assert.strictEqual(swept, model.sweep(yield* Clock.currentTimeMillis))
  })

/** Runs one step in the current process and in the model. */
const run = (model: Model, account: AccountId, step: Exclude<Step, { kind: "crash" }>) => {
  switch (step.kind) {
    case "grant":
      model.granted += step.amount
      model.entries.push([null, step.amount])
      return grant(account, step.amount)
    case "request":
      return openHold(model, holdOf(account, step))
    case "settle":
      return settleOne(model, model.inHand, step.of, step.share)
    case "settle again":
      return settleOne(model, model.ever, step.of, step.share)
    case "release":
      return releaseOne(model, model.inHand, step.of)
    case "release again":
      return releaseOne(model, model.ever, step.of)
    case "charge":
      return charge(model, holdOf(account, step), step.share)
    case "open again":
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const named = model.ever.filter((hold) => model.mayBeRepeated(hold, now))
        const again = named[step.of % named.length]
        return again === undefined ? Effect.void : openHold(model, again)
      })
    case "sweep":
      return sweep(model)
    case "wait":
      return elapse(step.duration)
  }
}

const booksAreRight = (model: Model, account: AccountId) =>
  Effect.gen(function* () {
    const { charged, granted, held } = yield* figures(account)
    assert.deepStrictEqual(
      { granted, charged, held },
      { granted: model.granted, charged: model.charged, held: model.held },
    )
  })

/** Starts a last process, and checks the statement, the stored answers and the balance there. */
const atTheEnd = (model: Model, account: AccountId) =>
  Effect.gen(function* () {
    const entries = yield* statement(account)
    assert.deepStrictEqual(
      entries.map(({ amount, requestId }) => [requestId, Number(amount)] as const),
      model.entries,
    )
    const now = yield* Clock.currentTimeMillis
    for (const [key, { body, expiresAt, fingerprint, requestId }] of model.named) {
      const collected = newHold(account, 1, { key, fingerprint })
      if (!isKept({ requestId, fingerprint, expiresAt, body }, now)) continue
      assert.strictEqual(yield* outcome(open(collected)), body ?? "IdempotencyKeyInUse")
    }
    yield* elapse(lease)
    yield* sweep(model)
    assert.strictEqual((yield* figures(account)).held, 0)
    assert.deepStrictEqual(yield* problemsOf(account), [])
  })

/** Starts a process on the store. A crash closes its scope and leaves the store. */
const newProcess = Effect.gen(function* () {
  const store = yield* Store
  const scope = yield* Scope.make()
  return { context: yield* Layer.buildWithScope(store, scope), scope }
})

for (const [name, store] of lastingStores) {
  layer(Layer.scoped(Store, store))(`crashes and replays in ${name}`, (it) => {
    it.effect.prop(
      "the ledger agrees with a simple model through any sequence of crashes and replays",
      { steps: fc.array(step, { minLength: 40, maxLength: 70, size: "max" }) },
      ({ steps }) =>
        Effect.gen(function* () {
          let process = yield* newProcess
          const inProcess = <A, E>(effect: Effect.Effect<A, E, Ports | SqlClient.SqlClient>) =>
            Effect.suspend(() => Effect.provide(effect, process.context))
          const crash = Effect.suspend(() => Scope.close(process.scope, Exit.void))

          // Expire the holds that earlier runs left open.
          yield* inProcess(Effect.zipRight(elapse(lease), expire))
          const { id } = yield* inProcess(newAccount)
          const model = new Model()
          model.steadySince = yield* Clock.currentTimeMillis
          yield* inProcess(run(model, id, { kind: "grant", amount: 200 }))
          for (const step of steps) {
            if (step.kind === "crash") {
              yield* crash
              process = yield* newProcess
              model.inHand = []
              model.steadySince = undefined
            } else {
              yield* inProcess(run(model, id, step))
            }
            yield* inProcess(booksAreRight(model, id))
          }
          yield* crash
          process = yield* newProcess
          model.steadySince = undefined
          yield* inProcess(atTheEnd(model, id))
          yield* crash
        }),
      { fastCheck: { numRuns: runs(4), endOnFailure: true }, timeout: 120_000 },
    )
  })
}
