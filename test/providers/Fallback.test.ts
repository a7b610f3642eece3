import { assert, describe, it } from "@effect/vitest"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { LookupContext } from "../../src/providers/MetricsProvider.ts"
import * as Fallback from "../../src/providers/Fallback.ts"
import type { Target } from "../../src/check/Target.ts"
import { context, tags, targets } from "../support/lookup.ts"
import { asProvider } from "../../src/providers/Composed.ts"
import * as ScriptedVendor from "../support/ScriptedVendor.ts"

const { fails, lacks } = ScriptedVendor

const setUp = () => {
  const first = ScriptedVendor.make({ name: "first" })
  const second = ScriptedVendor.make({ name: "second" })
  const third = ScriptedVendor.make({ name: "third" })
  const provider = Fallback.make([
    asProvider(first.vendor),
    asProvider(second.vendor),
    asProvider(third.vendor),
  ])
  return { first, second, third, provider }
}

describe("a chain of providers", () => {
  it.effect(
    "in a chain of providers, the next provider is asked only for targets that failed so far",
    () =>
      Effect.gen(function* () {
        const { first, provider, second, third } = setUp()
        first.always(lacks((page) => !page.startsWith("a")))
        second.always(lacks((page) => !page.startsWith("b")))
        third.always(lacks((page) => !page.startsWith("c")))
        const asked = targets("d.com", "c.com", "b.com", "a.com")
        assert.deepStrictEqual(tags(yield* provider.lookup(asked, context())), [
          "PROVIDER_ERROR",
          "ok",
          "ok",
          "ok",
        ])
        assert.deepStrictEqual(
          [first.calls, second.calls, third.calls],
          [
            [["d.com/", "c.com/", "b.com/", "a.com/"]],
            [["d.com/", "c.com/", "b.com/"]],
            [["d.com/", "c.com/"]],
          ],
        )
        assert.strictEqual(provider.name, "first,second,third")
      }),
  )

  it.effect(
    "the next provider of a chain is asked when the previous provider fails for all targets",
    () =>
      Effect.gen(function* () {
        const { first, provider, second, third } = setUp()
        first.always(fails("Unreachable"))
        assert.deepStrictEqual(tags(yield* provider.lookup(targets("example.com"), context())), [
          "ok",
        ])
        second.always(fails("Refused"))
        third.always(fails("Timeout"))
        assert.deepStrictEqual(tags(yield* provider.lookup(targets("example.com"), context())), [
          "PROVIDER_ERROR",
        ])
      }),
  )

  it.effect(
    "each provider of a chain except the last provider gets half of the remaining time",
    () =>
      Effect.gen(function* () {
        const deadlines: Array<number> = []
        const late = {
          ...asProvider(ScriptedVendor.make().vendor),
          lookup: (asked: Arr.NonEmptyReadonlyArray<Target>, { deadline }: LookupContext) => {
            deadlines.push(deadline)
            return Effect.as(fails("Timeout")(asked), [])
          },
        }
        const provider = Fallback.make([late, late, late])
        yield* provider.lookup(targets("example.com"), context({ deadline: 8000 }))
        assert.deepStrictEqual(deadlines, [4000, 4000, 8000])
      }),
  )
})
