import { inspect as nodeInspect } from "node:util"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { constant } from "effect/Function"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { Outcome } from "../../src/check/Metrics.ts"
import * as Moz from "../../src/providers/vendors/Moz.ts"
import { Vendor } from "../../src/providers/Vendor.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { ask, context, status } from "../support/askVendor.ts"
import { tags, targets } from "../support/lookup.ts"

const inspect = (value: unknown) => nodeInspect(value, { depth: 20, showHidden: false })

const checked = (page: string) =>
  Outcome.Checked({ metrics: FakeMoz.figures(page), index: FakeMoz.index })

describe("requests to Moz", () => {
  it.scoped("a Moz lookup is one JSON-RPC call with the token in a header", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      yield* ask(moz, "example.com", "http://www.example.co.uk/a?b=c")
      assert.lengthOf(moz.calls, 1)
      assert.containSubset(moz.calls[0], {
        method: "POST",
        url: "/jsonrpc",
        headers: {
          "x-moz-token": FakeMoz.token,
          "content-type": "application/json",
          "accept-encoding": "identity",
        },
      })
      assert.match(Object(moz.calls[0]?.json).id, /^[0-9a-f-]{36}$/)
      assert.notProperty(moz.calls[0]?.headers, "traceparent")
    }),
  )

  it.scoped("figures from Moz name Moz's index, which is requested once an hour", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { call } = yield* Effect.provide(Vendor, moz.layer)
      const indexNow = Effect.map(call(targets("example.com"), context), ({ outcomes }) =>
        outcomes.map((outcome) => (outcome._tag === "Checked" ? outcome.index : outcome.detail)),
      )
      assert.deepStrictEqual(yield* indexNow, [FakeMoz.index])
      moz.indices.now = "a new index"
      assert.deepStrictEqual(yield* indexNow, [FakeMoz.index])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* indexNow, ["a new index"])
      moz.indices.fault = FakeVendor.throttled("7")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* indexNow, [undefined])
      assert.deepStrictEqual(yield* indexNow, [undefined])
      assert.strictEqual(moz.indices.calls, 3)
    }),
  )

  it.scoped("a Moz index that never answers delays no second lookup, even if the first left", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      moz.indices.fault = FakeVendor.hang
      const { call } = yield* Effect.provide(Vendor, moz.layer)
      const first = yield* Effect.fork(call(targets("example.com"), context))
      yield* Effect.promise(() => vi.waitFor(() => assert.strictEqual(moz.indices.calls, 1)))
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("2 seconds")
      const { outcomes } = yield* call(targets("example.com/a"), context)
      assert.deepStrictEqual(outcomes, [
        Outcome.Checked({ metrics: FakeMoz.figures("example.com/a") }),
      ])
      assert.strictEqual(moz.indices.calls, 1)
    }),
  )

  it.scoped("the status of Moz contains the quota and the index, and costs no row", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      yield* ask(moz, "example.com", "example.org")
      const quota = {
        unit: "rows",
        allotted: 3000,
        left: 2998,
        allowsOverage: false,
        resetsAt: 1788246000000,
      }
      assert.deepStrictEqual(yield* status(moz), { quota, index: FakeMoz.index })
      moz.indices.fault = FakeVendor.throttled("10")
      assert.deepStrictEqual(yield* status(moz), { quota, index: undefined })
      assert.strictEqual(moz.rows(), 2)
    }),
  )
})

describe("answers from Moz", () => {
  const urls = ["example.com/a", "example.com/b", "example.com/c"] as const

  it.scoped("a URL that Moz echoes in another spelling is matched to its target", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      moz.script(
        FakeVendor.rewrite("other spelling", (json) =>
          JSON.parse(JSON.stringify(json).replaceAll("https://example.com", "http://EXAMPLE.com.")),
        ),
      )
      assert.deepStrictEqual(yield* ask(moz, ...urls), urls.map(checked))
    }),
  )

  it.scoped("a target that is missing from Moz's answer fails, and the other targets succeed", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      moz.script(FakeMoz.partial((page) => page !== "example.com/b"))
      assert.deepStrictEqual(tags(yield* ask(moz, ...urls)), ["ok", "PROVIDER_ERROR", "ok"])
    }),
  )

  it.scoped("when Moz refuses one target, this target fails, and the other targets succeed", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      moz.script(FakeMoz.siteError((page) => page === "example.com/a"))
      const outcomes = yield* ask(moz, ...urls)
      assert.deepStrictEqual(tags(outcomes), ["PROVIDER_ERROR", "ok", "ok"])
      assert.include(JSON.stringify(outcomes[0]), "-32655")
    }),
  )

  it.scoped(
    "Moz results are ignored if they are malformed or belong to a URL that was not asked for",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        const stray = (query: string) => ({ site_query: { original_site_query: { query } } })
        moz.script(
          FakeMoz.results((items) => [
            null,
            7,
            "x",
            {},
            stray("https://example.org/"),
            stray("not a url"),
            ...items,
          ]),
        )
        assert.deepStrictEqual(yield* ask(moz, ...urls), urls.map(checked))
      }),
  )

  const figure = FastCheck.oneof(
    FastCheck.double({ min: -1, max: 101 }),
    FastCheck.constantFrom(0, 100, -1, null, undefined, "74", Number.NaN, Infinity, {}),
  )
  it.prop(
    "a target fails if Moz returns an invalid page or domain authority; an invalid spam score is only left out",
    [
      FastCheck.record({
        domain_authority: figure,
        page_authority: figure,
        spam_score: figure,
        title: FastCheck.jsonValue(),
      }),
    ],
    ([figures]) => {
      const isScore = (value: unknown): value is number =>
        typeof value === "number" && value >= 0 && value <= 100
      const { domain_authority, page_authority, spam_score } = figures
      const outcome = Moz.checkedBy(constant(""))(figures)
      if (!isScore(domain_authority) || !isScore(page_authority)) {
        assert.containSubset(outcome, { _tag: "Failed", reason: "PROVIDER_ERROR" })
        return
      }
      const metrics = {
        domainAuthority: domain_authority,
        pageAuthority: page_authority,
        ...(isScore(spam_score) && { spamScore: spam_score }),
      }
      assert.deepStrictEqual(outcome, Outcome.Checked({ metrics }))
    },
  )
})

describe("a failed Moz call", () => {
  const { rpcError, rpcFailure } = FakeMoz
  const refusal = rpcFailure(400, rpcError(-32653, 400, "something-new"))

  it.scoped(
    "a refusal of Moz means that it is exhausted, until the period ends, when its quota has no rows left",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        yield* TestClock.setTime(1_788_246_000_000 - 5000)
        moz.script(refusal, FakeMoz.exhausted)
        const error = yield* Effect.flip(ask(moz, "example.com/a"))
        assert.strictEqual(error.reason, "Exhausted")
        assert.deepStrictEqual(error.retryAfter, Duration.seconds(5))

        const overage = FakeVendor.rewrite("overage", (json) =>
          JSON.parse(
            JSON.stringify(json).replace(
              /"used":\d+,"overage":false/,
              '"used":3000,"overage":true',
            ),
          ),
        )
        moz.script(refusal, overage)
        const another = yield* Effect.flip(ask(moz, "example.com/a"))
        assert.strictEqual(another.reason, "Rejected")
      }),
  )

  it.scoped("Moz's quota is requested at most once a minute, and only after refusals", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { call } = yield* Effect.provide(Vendor, moz.layer)
      const asked = (...faults: ReadonlyArray<FakeVendor.Fault>) =>
        Effect.gen(function* () {
          const before = moz.calls.length
          moz.script(...faults)
          const { reason } = yield* Effect.flip(call(targets("example.com"), context))
          return [reason, moz.calls.length - before]
        })
      assert.deepStrictEqual(yield* asked(FakeVendor.throttled("7")), ["Throttled", 1])
      assert.deepStrictEqual(yield* asked(FakeVendor.unavailable), ["Unavailable", 1])
      assert.deepStrictEqual(yield* asked(refusal, FakeVendor.unavailable), ["Rejected", 2])
      assert.deepStrictEqual(yield* asked(refusal), ["Rejected", 1])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* asked(refusal, FakeMoz.exhausted), ["Exhausted", 2])
      assert.deepStrictEqual(yield* asked(refusal), ["Exhausted", 1])
    }),
  )

  it.effect("a Moz token that is not a valid header value does not appear in the error", () =>
    Effect.gen(function* () {
      const layer = Moz.layer({ url: "http://localhost/", token: Redacted.make("a\nsecret") })
      const error = yield* Effect.flip(ask({ layer }, "example.com"))
      assert.containSubset(error, { reason: "Unreachable", detail: "ERR_INVALID_CHAR" })
    }),
  )

  it.scoped("an interrupted Moz lookup closes its connection", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const arrived = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      moz.script({
        name: "watched",
        apply: (response) => {
          response.on("close", closed.resolve)
          arrived.resolve()
        },
      })
      const asking = yield* Effect.fork(ask(moz, "example.com"))
      yield* Effect.promise(() => arrived.promise)
      yield* asking.interruptAsFork(asking.id())
      yield* Effect.promise(() => closed.promise)
    }),
  )
})

it.scoped("no error and no log contains the Moz token", () =>
  Effect.gen(function* () {
    const fake = yield* FakeMoz.make
    const inQuery = "a/token+in the query"
    const url = `${fake.url}?key=${encodeURIComponent(inQuery)}`
    const layer = Moz.layer({ url, token: Redacted.make(FakeMoz.token) })
    const moz = { ...fake, layer }
    const recorded: Array<unknown> = []
    const logger = Logger.map(Logger.structuredLogger, (entry) => void recorded.push(entry))
    // After a refusal, the provider asks Moz for the quota.
    moz.script(
      FakeMoz.rpcFailure(400, { ...FakeMoz.rpcError(1, 400, "x"), message: FakeMoz.token }),
      FakeVendor.none,
      FakeVendor.reset,
      FakeVendor.answer(200, JSON.stringify({ echo: FakeMoz.token })),
      FakeVendor.answer(403, JSON.stringify({ message: url })),
      FakeVendor.none,
      FakeVendor.answer(403, JSON.stringify({ message: `key=${inQuery}` })),
      FakeVendor.none,
      FakeMoz.metrics(() => ({ page_authority: FakeMoz.token })),
    )
    const asking = ask(moz, "example.com").pipe(
      Effect.tapErrorCause((cause) => Effect.logError("failed", cause, Cause.pretty(cause))),
      Effect.either,
    )
    const answers = yield* Effect.replicateEffect(asking, 7).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
    )
    assert.lengthOf(answers.filter(Either.isLeft), 5)
    recorded.push(...answers)
    assert.isAbove(recorded.length, 10)
    const text = inspect(recorded)
    for (const secret of [FakeMoz.token, inQuery, encodeURIComponent(inQuery)]) {
      assert.notInclude(text, secret)
    }
  }),
)
