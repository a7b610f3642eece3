import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { isWithinScale, type Metrics, type Outcome } from "../../src/check/Metrics.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import * as MonotonicClock from "../../src/check/MonotonicClock.ts"
import { tags, targets } from "../support/lookup.ts"

// Exclude `xn--`, which begins an encoded label, because most random ones are invalid.
const label = FastCheck.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/).filter(
  (text) => !text.startsWith("xn--"),
)
const urls = FastCheck.tuple(
  FastCheck.array(label, { maxLength: 2 }),
  label,
  FastCheck.constantFrom("com", "de", "co.uk", "org"),
  FastCheck.webPath(),
).map(([above, name, ending, path]) => `${[...above, name, ending].join(".")}${path}`)

const outcomesOf = (...list: ReadonlyArray<string>): ReadonlyArray<Outcome> => {
  const outcomes = Sandbox.outcomesOf(targets(...list))
  assert.isDefined(outcomes)
  return outcomes
}

const metricsOf = (url: string): Metrics => {
  const [outcome] = outcomesOf(url)
  assert(outcome?._tag === "Checked")
  return outcome.metrics
}

describe("the sandbox", () => {
  it.prop(
    "the sandbox gives a URL the same figures in any batch and at any position",
    [FastCheck.uniqueArray(urls, { minLength: 1, maxLength: 20 })],
    ([list]) => {
      const alone = list.flatMap((url) => outcomesOf(url))
      assert.deepStrictEqual(outcomesOf(...list), alone)
      assert.deepStrictEqual(outcomesOf(...list.toReversed()), alone.toReversed())
    },
  )

  it.prop("the sandbox gives figures that are whole numbers from 0 to 100", [urls], ([url]) => {
    const metrics = metricsOf(url)
    assert.isTrue(isWithinScale(metrics))
    for (const figure of Object.values(metrics)) assert.isTrue(Number.isInteger(figure))
  })

  it.prop(
    "all sandbox pages of a domain have the same domain authority, and none has a higher page authority than its host's home page",
    [urls],
    ([url]) => {
      const [target] = targets(url)
      const page = metricsOf(url)
      const home = metricsOf(target.host)
      assert.strictEqual(page.domainAuthority, metricsOf(target.domain).domainAuthority)
      assert.strictEqual(page.spamScore, metricsOf(target.domain).spamScore)
      assert.isAtMost(page.pageAuthority, home.pageAuthority)
      assert.isAtMost(home.pageAuthority, home.domainAuthority)
    },
  )

  it("the sandbox simulates failures and a missing spam score", () => {
    const outcomes = outcomesOf(
      "provider-error.example.com",
      "server-error.example.com/page",
      "no-spam-score.example.com",
      "example.com",
    )
    assert.deepStrictEqual(tags(outcomes), ["PROVIDER_ERROR", "SERVER_ERROR", "ok", "ok"])
    assert.notProperty(metricsOf("no-spam-score.example.com"), "spamScore")
  })

  it.effect(
    "the sandbox answers for slow.example.com after five seconds, or fails at the deadline",
    () =>
      Effect.gen(function* () {
        const list = ["example.com", "slow.example.com"]
        assert.isUndefined(Sandbox.outcomesOf(targets(...list)))
        const provider = yield* Effect.provide(MetricsProvider, Sandbox.layer)
        const lookup = Effect.fn(function* (ms: number) {
          const deadline = (yield* MonotonicClock.now) + ms
          const context = { account: "a", deadline, maxAgeMs: 0, requestId: "r", charged: 0 }
          return yield* Effect.fork(provider.lookup(targets(...list), context))
        })
        const asked = yield* lookup(10_000)
        yield* TestClock.adjust("4999 millis")
        assert.isTrue(Option.isNone(yield* Fiber.poll(asked)))
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(tags(yield* Fiber.join(asked)), ["ok", "ok"])

        const late = yield* lookup(3000)
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(tags(yield* Fiber.join(late)), ["ok", "PROVIDER_ERROR"])
      }),
  )
})
