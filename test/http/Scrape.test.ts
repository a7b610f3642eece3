import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { creditsOf } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import * as Prometheus from "../../src/http/telemetry/Prometheus.ts"
import * as Fake from "../../src/providers/Fake.ts"

it.scoped("the sums of /metrics are read once in ten seconds", () =>
  Effect.gen(function* () {
    let reads = 0
    const ledger = Layer.effect(
      CreditLedger,
      Effect.map(CreditLedger, (ledger) => ({
        ...ledger,
        totals: () => Effect.sync(() => ({ held: creditsOf(++reads), accountsBelow: [] })),
      })),
    ).pipe(Layer.provide(memory.creditLedger({ lease: "1 minute" })))
    const scrape = yield* Prometheus.make.pipe(Effect.provide([ledger, Fake.make().layer]))
    assert.include(yield* scrape, "authority_credits_held 1\n")
    yield* TestClock.adjust("9 seconds")
    assert.include(yield* scrape, "authority_credits_held 1\n")
    yield* TestClock.adjust("1 seconds")
    assert.include(yield* scrape, "authority_credits_held 2\n")
  }),
)
