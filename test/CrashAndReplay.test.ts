/**
 * Requests as they come and go, processes that crash in between, and owners who come back from the
 * dead or ask again: whatever the order, the stores say what a plain model says.
 */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type { AccountId } from "../src/Account.ts"
import { CreditLedger } from "../src/CreditLedger.ts"
import type { Hold } from "../src/ledger/Hold.ts"
import { type Claim, Receipts, retentionMs } from "../src/Receipts.ts"
import type { RequestId } from "../src/RequestId.ts"
import { newAccount } from "./support/accounts.ts"
import {
  credits,
  expire,
  figures,
  grant,
  newRequest,
  problemsOf,
  statement,
} from "./support/ledger.ts"
import { lastingStores, lease, type Ports } from "./support/Stores.ts"

/** What every process of the store is made from. */
class Store extends Context.Tag("test/Store")<Store, Layer.Layer<Ports, unknown>>() {}

/** `of` picks among the requests that there are; `share` is how much of the hold is charged. */
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
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("charge" as const), amount, share }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), duration }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const) }) },
  // Of any request, also of one that was settled, or whose process is gone.
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("settle again" as const), of, share }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("claim again" as const), of }) },
)
type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

interface Request {
  readonly hold: Hold
  readonly claim: Claim | undefined
}

interface Named {
  readonly requestId: RequestId
  readonly fingerprint: string
  readonly expiresAt: number
  readonly body: string | undefined
}

const answerTo = (requestId: RequestId) => `the answer to ${requestId}`

/** The rules in their plainest form. */
class Model {
  granted = 0
  charged = 0
  readonly entries: Array<readonly [requestId: RequestId | null, amount: number]> = []
  readonly open = new Map<RequestId, { readonly amount: number; readonly expiresAt: number }>()
  readonly named = new Map<string, Named>()
  /** What the process that runs has in hand; and what any process ever had. */
  inHand: Array<Request> = []
  readonly ever: Array<Request> = []

  get held() {
    return [...this.open.values()].reduce((sum, { amount }) => sum + amount, 0)
  }

  get available() {
    return this.granted - this.charged - this.held
  }

  claim(claim: Claim, now: number): string | undefined {
    const { fingerprint, key, requestId } = claim
    const former = this.named.get(key)
    if (former === undefined || former.expiresAt <= now) {
      const expiresAt = now + Duration.toMillis(lease)
      this.named.set(key, { requestId, fingerprint, expiresAt, body: undefined })
      return undefined
    }
    if (former.fingerprint !== fingerprint) return "KeyReused"
    return former.body ?? (former.requestId === requestId ? undefined : "StillInFlight")
  }

  hold({ hold }: Request, now: number): boolean {
    if (hold.amount > this.available) return false
    const expiresAt = now + Duration.toMillis(lease)
    this.open.set(hold.requestId, { amount: hold.amount, expiresAt })
    return true
  }

  settle({ claim, hold }: Request, amount: number, now: number): boolean {
    const wasOpen = this.open.delete(hold.requestId)
    if (!wasOpen) return false
    if (claim !== undefined) {
      if (this.named.get(claim.key)?.requestId !== hold.requestId) return false
      const [expiresAt, body] = [now + retentionMs, answerTo(hold.requestId)]
      this.named.set(claim.key, { ...claim, expiresAt, body })
    }
    this.charge(hold.requestId, amount)
    return true
  }

  charge(requestId: RequestId, amount: number) {
    this.charged += amount
    if (amount > 0) this.entries.push([requestId, amount])
  }

  /** How many holds were over. */
  sweep(now: number): number {
    const isOver = ([, { expiresAt }]: readonly [unknown, { readonly expiresAt: number }]) =>
      expiresAt <= now
    for (const [key] of [...this.named].filter(isOver)) this.named.delete(key)
    const over = [...this.open].filter(isOver)
    for (const [requestId] of over) this.open.delete(requestId)
    return over.length
  }
}

/** The answer that is there, the error, or nothing when the key belongs to the request. */
const claim = (claim: Claim) =>
  Effect.flatMap(Receipts, (receipts) =>
    Effect.catchAll(receipts.claim(claim), ({ _tag }) => Effect.succeed(_tag)),
  )

const request = (
  model: Model,
  accountId: AccountId,
  { amount, fingerprint, key }: Extract<Step, { kind: "request" }>,
) =>
  Effect.gen(function* () {
    const requestId = newRequest()
    const request: Request = {
      hold: { accountId, requestId, amount: credits(amount) },
      claim: key === undefined ? undefined : { accountId, key, fingerprint, requestId },
    }
    const now = yield* Clock.currentTimeMillis
    if (request.claim !== undefined) {
      const answer = yield* claim(request.claim)
      assert.strictEqual(answer, model.claim(request.claim, now))
      if (answer !== undefined) return
    }
    const ledger = yield* CreditLedger
    const held = yield* Effect.either(ledger.hold(accountId, credits(amount), requestId))
    assert.strictEqual(Either.isRight(held), model.hold(request, now))
    if (Either.isRight(held)) {
      model.inHand.push(request)
      model.ever.push(request)
    } else if (request.claim !== undefined) {
      yield* (yield* Receipts).release(request.claim)
      model.named.delete(request.claim.key)
    }
  })

const settle = (model: Model, requests: ReadonlyArray<Request>, of: number, share: number) =>
  Effect.gen(function* () {
    const request = requests[of % requests.length]
    if (request === undefined) return
    const { claim, hold } = request
    const amount = Math.floor(hold.amount * share)
    const receipt = claim === undefined ? undefined : { claim, body: answerTo(hold.requestId) }
    const ledger = yield* CreditLedger
    const settled = yield* Effect.either(
      ledger.settle(hold, { amount: credits(amount), urls: amount }, receipt),
    )
    model.inHand = model.inHand.filter((one) => one !== request)
    const now = yield* Clock.currentTimeMillis
    assert.strictEqual(Either.isRight(settled), model.settle(request, amount, now))
  })

const charge = (
  model: Model,
  accountId: AccountId,
  { amount, share }: Extract<Step, { kind: "charge" }>,
) =>
  Effect.gen(function* () {
    const hold = { accountId, requestId: newRequest(), amount: credits(amount) }
    const part = Math.floor(amount * share)
    const ledger = yield* CreditLedger
    const done = yield* Effect.either(ledger.charge(hold, { amount: credits(part), urls: part }))
    assert.strictEqual(Either.isRight(done), amount <= model.available)
    if (Either.isRight(done)) model.charge(hold.requestId, part)
  })

const sweep = (model: Model) =>
  Effect.gen(function* () {
    const swept = yield* expire
    yield* (yield* Receipts).expire
    assert.strictEqual(swept, model.sweep(yield* Clock.currentTimeMillis))
  })

/** One step of whoever runs at the moment. */
const run = (model: Model, account: AccountId, step: Exclude<Step, { kind: "crash" }>) => {
  switch (step.kind) {
    case "grant":
      model.granted += step.amount
      model.entries.push([null, step.amount])
      return grant(account, step.amount)
    case "request":
      return request(model, account, step)
    case "settle":
      return settle(model, model.inHand, step.of, step.share)
    case "settle again":
      return settle(model, model.ever, step.of, step.share)
    case "charge":
      return charge(model, account, step)
    case "claim again": {
      const named = model.ever.flatMap(({ claim }) => (claim === undefined ? [] : [claim]))
      const again = named[step.of % named.length]
      return again === undefined
        ? Effect.void
        : Effect.gen(function* () {
            const answer = yield* claim(again)
            assert.strictEqual(answer, model.claim(again, yield* Clock.currentTimeMillis))
          })
    }
    case "sweep":
      return sweep(model)
    case "wait":
      return TestClock.adjust(step.duration)
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

/** What a last process finds, when everybody else is gone. */
const atTheEnd = (model: Model, account: AccountId) =>
  Effect.gen(function* () {
    const entries = yield* statement(account)
    assert.deepStrictEqual(
      entries.map(({ amount, requestId }) => [requestId, Number(amount)] as const),
      model.entries,
    )
    const now = yield* Clock.currentTimeMillis
    for (const [key, { body, expiresAt, fingerprint }] of model.named) {
      const collected = { accountId: account, key, fingerprint, requestId: newRequest() }
      if (expiresAt > now) assert.strictEqual(yield* claim(collected), body ?? "StillInFlight")
    }
    yield* TestClock.adjust(lease)
    yield* sweep(model)
    assert.strictEqual((yield* figures(account)).held, 0)
    assert.deepStrictEqual(yield* problemsOf(account), [])
  })

/** Some process on the store; a crash leaves the store to the next. */
const newProcess = Effect.gen(function* () {
  const store = yield* Store
  const scope = yield* Scope.make()
  return { context: yield* Layer.buildWithScope(store, scope), scope }
})

for (const [name, store] of lastingStores) {
  layer(Layer.scoped(Store, store))(`the money in ${name}`, (it) => {
    it.effect.prop(
      "is where a plain model says, through crashes and replays",
      { steps: fc.array(step, { minLength: 40, maxLength: 70, size: "max" }) },
      ({ steps }) =>
        Effect.gen(function* () {
          let process = yield* newProcess
          const inProcess = <A, E>(effect: Effect.Effect<A, E, Ports>) =>
            Effect.suspend(() => Effect.provide(effect, process.context))
          const crash = Effect.suspend(() => Scope.close(process.scope, Exit.void))

          // What the runs before have left open.
          yield* inProcess(Effect.zipRight(TestClock.adjust(lease), expire))
          const { id } = yield* inProcess(newAccount)
          const model = new Model()
          yield* inProcess(run(model, id, { kind: "grant", amount: 200 }))
          for (const step of steps) {
            if (step.kind === "crash") {
              yield* crash
              process = yield* newProcess
              model.inHand = []
            } else {
              yield* inProcess(run(model, id, step))
            }
            yield* inProcess(booksAreRight(model, id))
          }
          yield* crash
          process = yield* newProcess
          yield* inProcess(atTheEnd(model, id))
          yield* crash
        }),
      { fastCheck: { numRuns: 12, endOnFailure: true }, timeout: 120_000 },
    )
  })
}
