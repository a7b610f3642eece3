import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import * as TestClock from "effect/TestClock"
import { AccountId } from "../../src/accounts/Account.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import * as Batch from "../../src/check/Batch.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Deadline } from "../../src/check/Deadline.ts"
import type { Hold } from "../../src/ledger/Hold.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import type { Outcome } from "../../src/check/Metrics.ts"
import { type MetricsProvider, ProviderError } from "../../src/providers/MetricsProvider.ts"
import type { Report } from "../../src/check/Report.ts"
import { RequestId } from "../../src/check/RequestId.ts"
import { StoreTimeout } from "../../src/ledger/StoreTimeout.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { newRequest } from "../../scripts/support/ledger.ts"
import { checked, failed, figures, knowing, make, succeeding } from "../support/ScriptedProvider.ts"
import { sqliteFile } from "../support/Stores.ts"
import { runs } from "../support/properties.ts"

const account = AccountId.make("acme")
const leaseMs = 60_000
const timeoutMs = 30_000

interface World {
  readonly provider?: Pick<ReturnType<typeof make>, "calls" | "layer">
  readonly price?: number
  readonly credits?: number
  readonly ledger?: Layer.Layer<CreditLedger>
}

const memoryLedger = memory.ledgerAlone({ lease: leaseMs })

/** Runs a test with a ledger that has one account with `credits`. */
const within =
  ({ credits = 1000, ledger = memoryLedger, price = 1, provider = make(succeeding) }: World) =>
  <A, E>(test: Effect.Effect<A, E, AuthorityCheck.AuthorityCheck | CreditLedger>) =>
    Effect.flatMap(CreditLedger, ({ grant }) =>
      credits === 0 ? Effect.void : grant(account, Credits.make(credits), null),
    ).pipe(
      Effect.zipRight(test),
      Effect.provide(AuthorityCheck.layer({ price: Credits.make(price) })),
      Effect.provide(Layer.merge(ledger, provider.layer)),
    )

const check = (urls: ReadonlyArray<string>, requestId = "request-1", idempotencyKey?: string) =>
  Effect.flatMap(AuthorityCheck.AuthorityCheck, (use) =>
    use.check({
      accountId: account,
      requestId: RequestId.make(requestId),
      ...Batch.parse(urls),
      idempotencyKey,
    }),
  ).pipe(inTime)

const inTime = <A, E, R>(check: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.provideService(check, Deadline, now + timeoutMs),
  )

const books = Effect.gen(function* () {
  const ledger = yield* CreditLedger
  const balance = yield* ledger.balance(account)
  const { charged, held } = balance
  return { available: Balance.available(balance), charged: Number(charged), held: Number(held) }
})

const charges = Effect.flatMap(CreditLedger, ({ statement }) =>
  Stream.runCollect(Stream.filter(statement(account, {}), ({ kind }) => kind === "charge")),
).pipe(Effect.map((entries) => [...entries]))

const reasonOf = (outcome: Outcome) => (outcome._tag === "Failed" ? outcome.reason : "ok")

const reasons = ({ outcomes }: Report) => outcomes.map(reasonOf)

/** Lets forked fibers run until `isReached`. */
const until = (isReached: () => boolean) =>
  Effect.yieldNow().pipe(Effect.repeat({ until: isReached, times: 10_000 }))

const breakingLedger = (broken: Partial<CreditLedger["Type"]>) =>
  Layer.effect(
    CreditLedger,
    Effect.map(CreditLedger, (ledger) => ({ ...ledger, ...broken })),
  ).pipe(Layer.provide(memoryLedger))

describe("a batch", () => {
  it.effect("a batch of only invalid URLs needs no credits, no hold and no lookup", () => {
    const provider = make(succeeding)
    return Effect.gen(function* () {
      const report = yield* check(["localhost", "ftp://example.com"])
      assert.deepStrictEqual(reasons(report), ["INVALID_URL", "INVALID_URL"])
      assert.strictEqual(report.creditsUsed, 0)
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 0, charged: 0, held: 0 })
    }).pipe(within({ provider, credits: 0 }))
  })

  it.effect("a batch that the account cannot pay for fails before the lookup", () => {
    const provider = make(succeeding)
    return Effect.gen(function* () {
      const error = yield* Effect.flip(check(["example.com", "example.org", "localhost"]))
      assert.strictEqual(error._tag, "InsufficientCredits")
      assert.strictEqual(error.message, "This request needs 2 credits and the account has 1.")
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 1, charged: 0, held: 0 })
    }).pipe(within({ provider, credits: 1 }))
  })

  it.effect("a batch holds the price of every valid URL during the lookup", () => {
    const provider = make(() => Effect.never)
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(check(["example.com", "example.com", "localhost"]))
      yield* until(() => provider.calls.length === 1)
      assert.deepStrictEqual(yield* books, { available: 86, charged: 0, held: 14 })
      yield* Fiber.interrupt(fiber)
    }).pipe(within({ provider, price: 7, credits: 100 }))
  })

  it.effect("a batch is charged for each successful check, in one ledger entry", () => {
    const provider = make((targets) =>
      Effect.succeed(targets.map((_, i) => (i === 0 ? failed : checked()))),
    )
    return Effect.gen(function* () {
      const report = yield* check(["a.example.com", "b.example.com", "c.example.com"])
      assert.strictEqual(report.creditsUsed, 14)
      assert.deepStrictEqual(yield* books, { available: 7, charged: 14, held: 0 })
      const [charge, ...others] = yield* charges
      assert.deepStrictEqual(others, [])
      assert.strictEqual(charge?.requestId, "request-1")
      assert.strictEqual(charge?.amount, 14)
      assert.strictEqual(charge?.urls, 2)
    }).pipe(within({ provider, price: 7, credits: 21 }))
  })

  const kinds = {
    valid: "ok",
    failing: "PROVIDER_ERROR",
    invalid: "INVALID_URL",
  } as const
  const submitted = FastCheck.record({
    kind: FastCheck.constantFrom(...Struct.keys(kinds)),
    name: FastCheck.constantFrom("a", "b", "c", "d"),
  })

  it.effect.prop(
    "any batch keeps the order of its URLs and is charged only for successful checks",
    {
      batch: FastCheck.array(submitted, { minLength: 1, maxLength: 50 }),
      price: FastCheck.integer({ min: 1, max: 1000 }),
    },
    ({ batch, price }) => {
      const provider = make((targets) =>
        Effect.succeed(
          targets.map(({ host }) => (host.includes(".failing.") ? failed : checked())),
        ),
      )
      const urls = batch.map(({ kind, name }) =>
        kind === "invalid" ? name : `${name}.${kind}.example.com`,
      )
      const successes = batch.filter(({ kind }) => kind === "valid").length
      return Effect.gen(function* () {
        const report = yield* check(urls)
        assert.deepStrictEqual(
          report.urls.map((url, i) => [url, reasons(report)[i]]),
          batch.map(({ kind }, i) => [urls[i], kinds[kind]]),
        )
        assert.strictEqual(report.creditsUsed, price * successes)
        assert.deepStrictEqual(yield* books, {
          available: 50_000 - price * successes,
          charged: price * successes,
          held: 0,
        })
        const asked = provider.calls.flat()
        assert.strictEqual(new Set(asked).size, asked.length)
      }).pipe(within({ provider, price, credits: 50_000 }))
    },
    { fastCheck: { numRuns: runs(25) } },
  )
})

describe("a batch whose figures are all cached", () => {
  const known = () => checked()

  it.effect("a batch whose figures are all cached is charged without a lookup", () => {
    const provider = knowing(known, succeeding)
    return Effect.gen(function* () {
      const report = yield* check(["example.com", "localhost", "example.com", "example.org"])
      assert.deepStrictEqual(reasons(report), ["ok", "INVALID_URL", "ok", "ok"])
      assert.strictEqual(report.creditsUsed, 21)
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 79, charged: 21, held: 0 })
      const [charge, ...others] = yield* charges
      assert.deepStrictEqual([charge?.amount, charge?.urls], [21, 3])
      assert.deepStrictEqual(others, [])
    }).pipe(within({ provider, price: 7, credits: 100 }))
  })

  it.effect("an invalid figure among cached ones is PROVIDER_ERROR and is not charged", () => {
    const off = checked({ domainAuthority: Number.NaN, pageAuthority: 1 })
    const provider = knowing((page) => (page === "example.com/" ? off : checked()), succeeding)
    return Effect.gen(function* () {
      assert.deepStrictEqual(reasons(yield* check(["example.com", "example.org"])), [
        "PROVIDER_ERROR",
        "ok",
      ])
      assert.deepStrictEqual(yield* books, { available: 999, charged: 1, held: 0 })
    }).pipe(within({ provider }))
  })

  it.effect("the provider is asked for all URLs if the figures of one are not cached", () => {
    const provider = knowing(
      (page) => (page === "example.com/" ? checked() : undefined),
      succeeding,
    )
    return Effect.gen(function* () {
      yield* check(["example.com", "example.org"])
      assert.deepStrictEqual(provider.calls, [["example.com/", "example.org/"]])
      assert.deepStrictEqual(yield* books, { available: 998, charged: 2, held: 0 })
    }).pipe(within({ provider }))
  })
})

describe("a provider that fails", () => {
  const unavailable = { provider: "scripted", reason: "Unavailable", detail: "HTTP 503" } as const

  it.effect.each<[name: string, provider: ReturnType<typeof make>, reason: string]>([
    ["fails", make(() => new ProviderError(unavailable)), "PROVIDER_ERROR"],
    ["has a defect", make(() => Effect.die(new Error("boom"))), "SERVER_ERROR"],
    [
      "throws",
      make(() => {
        throw new Error("boom")
      }),
      "SERVER_ERROR",
    ],
    ["returns no outcomes", make(() => Effect.succeed([])), "PROVIDER_ERROR"],
  ])("nothing is charged when the provider %s", ([, provider, reason]) =>
    Effect.gen(function* () {
      const report = yield* check(["example.com", "localhost", "example.org"])
      assert.deepStrictEqual(reasons(report), [reason, "INVALID_URL", reason])
      assert.strictEqual(report.creditsUsed, 0)
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
      assert.deepStrictEqual(yield* charges, [])
    }).pipe(within({ provider })),
  )

  const wrong = (value: number) => [checked({ ...figures, pageAuthority: value }), checked()]

  it.effect.each<[name: string, outcomes: ReadonlyArray<Outcome>, reasons: ReadonlyArray<string>]>([
    ["a missing outcome", [checked()], ["ok", "PROVIDER_ERROR"]],
    ["a surplus outcome", [failed, checked(), checked()], ["PROVIDER_ERROR", "ok"]],
    ["the figure 101", wrong(101), ["PROVIDER_ERROR", "ok"]],
    ["the figure -1", wrong(-1), ["PROVIDER_ERROR", "ok"]],
    ["the figure NaN", wrong(Number.NaN), ["PROVIDER_ERROR", "ok"]],
    ["an infinite figure", wrong(Number.POSITIVE_INFINITY), ["PROVIDER_ERROR", "ok"]],
  ])("%s does not prevent the charge for the other URL", ([, outcomes, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(reasons(yield* check(["example.com", "example.org"])), expected)
      assert.deepStrictEqual(yield* books, { available: 999, charged: 1, held: 0 })
    }).pipe(within({ provider: make(() => Effect.succeed(outcomes)) })),
  )
})

describe("a request that ends early", () => {
  it.effect("a request that is interrupted during the lookup releases its hold", () => {
    const provider = make(() => Effect.never)
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(check(["example.com", "example.org"]))
      yield* until(() => provider.calls.length === 1)
      assert.strictEqual((yield* books).held, 2)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
      assert.deepStrictEqual(yield* charges, [])
    }).pipe(within({ provider }))
  })

  it.effect("outcomes that arrive exactly at the deadline are charged", () => {
    const provider = make((targets) =>
      Effect.gen(function* () {
        const deadline = yield* Deadline
        yield* Effect.sleep(deadline - (yield* Clock.currentTimeMillis))
        return targets.map((_, i) => (i === 0 ? checked() : failed))
      }),
    )
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(check(["example.com", "example.org", "example.net"]))
      yield* until(() => provider.calls.length === 1)
      yield* TestClock.adjust(timeoutMs)
      const report = yield* Fiber.join(fiber)
      assert.deepStrictEqual(reasons(report), ["ok", "PROVIDER_ERROR", "PROVIDER_ERROR"])
      assert.deepStrictEqual(yield* books, { available: 999, charged: 1, held: 0 })
    }).pipe(within({ provider }))
  })

  it.effect("a provider that cannot be interrupted does not delay the deadline", () => {
    const provider = make(() => Effect.uninterruptible(Effect.never))
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(check(["example.com"]))
      yield* until(() => provider.calls.length === 1)
      yield* TestClock.adjust(timeoutMs + 1000)
      assert.deepStrictEqual(reasons(yield* Fiber.join(fiber)), ["PROVIDER_ERROR"])
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
    }).pipe(within({ provider }))
  })

  it.effect("a request whose hold has expired fails and is not charged", () => {
    const provider = make((targets) =>
      // Another process releases the expired hold during this wait.
      Effect.as(
        Effect.sleep(1000),
        targets.map(() => checked()),
      ),
    )
    return Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const fiber = yield* Effect.fork(Effect.flip(check(["example.com"])))
      yield* until(() => provider.calls.length === 1)
      assert.strictEqual(yield* ledger.expire, 1)
      yield* TestClock.adjust(1000)
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "HoldExpired")
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
    }).pipe(within({ provider, ledger: memory.ledgerAlone({ lease: 0 }) }))
  })

  it.effect("the hold of a request is released when the charge fails", () => {
    const settle = () => Effect.die(new Error("the disk is full"))
    return Effect.gen(function* () {
      const exit = yield* Effect.exit(check(["example.com"]))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
    }).pipe(within({ ledger: breakingLedger({ settle }) }))
  })

  it.effect("a hold that could be neither charged nor released ends with its lease", () => {
    const broken = () => Effect.die(new Error("the disk is full"))
    const breaking = breakingLedger({ settle: broken, release: broken })
    return Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const exit = yield* Effect.exit(check(["example.com"]))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(yield* books, { available: 999, charged: 0, held: 1 })
      assert.strictEqual(yield* ledger.expire, 0)
      yield* TestClock.adjust(leaseMs)
      assert.strictEqual(yield* ledger.expire, 1)
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
      assert.deepStrictEqual((yield* ledger.verify).problems, [])
    }).pipe(within({ ledger: breaking }))
  })
})

describe("a slow ledger", () => {
  const undecided = Effect.fail(new StoreTimeout({ mayCharge: true }))

  it.effect("a request whose charge times out fails, and its hold is released", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(check(["example.com"]))
      assert.strictEqual(error._tag, "StoreTimeout")
      assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
    }).pipe(within({ ledger: breakingLedger({ settle: () => undecided }) })),
  )

  it.effect("a failed request is answered before its hold is released", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const slow = Layer.effect(
        CreditLedger,
        Effect.map(CreditLedger, (ledger) => ({
          ...ledger,
          settle: () => Effect.die(new Error("the disk is full")),
          release: (hold: Hold) => Effect.zipRight(gate.await, ledger.release(hold)),
        })),
      ).pipe(Layer.provide(memoryLedger))
      yield* Effect.gen(function* () {
        const asked = yield* Effect.fork(Effect.exit(check(["example.com"])))
        yield* TestClock.adjust(timeoutMs + 1000)
        const exit = yield* Fiber.join(asked)
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.strictEqual((yield* books).held, 1)
        yield* gate.open
        yield* Effect.yieldNow().pipe(Effect.repeatN(100))
        assert.deepStrictEqual(yield* books, { available: 1000, charged: 0, held: 0 })
      }).pipe(within({ ledger: slow }))
    }),
  )
})

describe("a batch with an idempotency key", () => {
  const named = (urls: ReadonlyArray<string>, requestId: string) => check(urls, requestId, "key")

  for (const [name, provider] of [
    ["cached", () => knowing(() => checked(), succeeding)],
    ["bought", () => make(succeeding)],
  ] as const) {
    it.effect(
      `a batch with ${name} figures that is sent again with its idempotency key gets the same answer free of charge`,
      () =>
        Effect.gen(function* () {
          const urls = ["example.com", "localhost", "example.org"]
          const first = yield* named(urls, "first")
          const again = yield* named(urls, "again")
          assert.deepStrictEqual([first.isReplay, again.isReplay], [false, true])
          assert.deepStrictEqual(reasons(again), reasons(first))
          assert.deepStrictEqual(again.outcomes[0], first.outcomes[0])
          assert.deepStrictEqual([again.urls, again.creditsUsed], [urls, first.creditsUsed])
          assert.deepStrictEqual(yield* books, { available: 0, charged: 2, held: 0 })
          const other = yield* Effect.flip(named(["example.com"], "other"))
          assert.strictEqual(other._tag, "IdempotencyKeyReused")
        }).pipe(within({ provider: provider(), credits: 2 })),
    )
  }

  it.effect("interrupting a batch releases its idempotency key and its hold", () => {
    let hangs = true
    const provider = make((targets) => (hangs ? Effect.never : succeeding(targets)))
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(named(["example.com"], "first"))
      yield* until(() => provider.calls.length === 1)
      yield* Fiber.interrupt(fiber)
      hangs = false
      const report = yield* named(["example.com"], "again")
      assert.isFalse(report.isReplay)
      assert.deepStrictEqual(yield* books, { available: 999, charged: 1, held: 0 })
    }).pipe(within({ provider }))
  })

  it.effect(
    "a repeated request gets the answer of a charge that was committed despite an error",
    () => {
      const provider = make(succeeding)
      const lostAnswer = Layer.effect(
        CreditLedger,
        Effect.map(CreditLedger, (ledger) => ({
          ...ledger,
          settle: (...args: Parameters<typeof ledger.settle>) =>
            Effect.zipRight(ledger.settle(...args), Effect.dieMessage("the connection is gone")),
        })),
      ).pipe(Layer.provide(memoryLedger))
      return Effect.gen(function* () {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(named(["example.com"], "first"))))
        assert.isTrue((yield* named(["example.com"], "again")).isReplay)
        assert.strictEqual(provider.calls.length, 1)
        assert.deepStrictEqual(yield* books, { available: 999, charged: 1, held: 0 })
      }).pipe(within({ provider, ledger: lostAnswer }))
    },
  )
})

describe("how many ledger commits a request needs", () => {
  /** Number of ledger commits since the process started. */
  const commits = Effect.map(Metric.snapshot, (pairs) =>
    pairs.reduce(
      (sum, { metricKey, metricState }) =>
        metricKey.name === "authority_ledger_commit_seconds" &&
        MetricState.isHistogramState(metricState)
          ? sum + metricState.count
          : sum,
      0,
    ),
  )

  it.scopedLive.each<
    [name: string, provider: Layer.Layer<MetricsProvider>, key: string | undefined, cost: number]
  >([
    ["cached figures", knowing(() => checked(), succeeding).layer, undefined, 1],
    ["cached figures with a key", knowing(() => checked(), succeeding).layer, "key", 1],
    ["bought figures", make(succeeding).layer, undefined, 2],
    ["bought figures with a key", make(succeeding).layer, "key", 2],
  ])("the number of ledger commits for %s is as expected", ([, provider, idempotencyKey, cost]) =>
    Effect.gen(function* () {
      const accountId = yield* newAccountWith(10)
      const service = yield* AuthorityCheck.AuthorityCheck
      const request = { accountId, ...Batch.parse(["example.com"]), idempotencyKey }
      const before = yield* commits
      yield* service.check({ ...request, requestId: newRequest() })
      assert.strictEqual((yield* commits) - before, cost)
    }).pipe(
      Effect.provide(
        AuthorityCheck.layer({ price: Credits.make(1) }).pipe(
          Layer.provide(provider),
          Layer.provideMerge(sqliteFile(":memory:")),
        ),
      ),
    ),
  )
})
