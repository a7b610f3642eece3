import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as fc from "effect/FastCheck"
import * as BatchAnswer from "../../src/http/BatchAnswer.ts"
import { Credits } from "../../src/LedgerEntry.ts"
import { FailureReason, Metrics, Outcome } from "../../src/Metrics.ts"

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  Arbitrary.make(Metrics).map((metrics) => Outcome.Checked({ metrics })),
  fc
    .constantFrom(...FailureReason.literals)
    .map((reason) => Outcome.Failed({ reason, detail: "for the log" })),
)
const check = fc.tuple(fc.string({ unit: "binary", maxLength: 1000 }), outcome)
const told = fc
  .record({
    checks: fc.array(check, { minLength: 1, maxLength: 50 }),
    creditsUsed: fc.maxSafeNat().map((n) => Credits.make(n)),
  })
  .map(({ checks, creditsUsed }) => ({
    urls: checks.map(([url]) => url),
    outcomes: checks.map(([, outcome]) => outcome),
    creditsUsed,
  }))

describe("an answer that is kept", () => {
  it.prop("gives the same bytes for the same URLs", { told }, ({ told }) => {
    const recalled = BatchAnswer.recalled(told.urls, BatchAnswer.kept(told))
    assert.strictEqual(BatchAnswer.body(recalled), BatchAnswer.body(told))
  })

  it("takes a few kilobytes, however long its URLs", () => {
    const urls = Array<string>(50).fill("\u0000".repeat(1000))
    const metrics = { domainAuthority: 1 / 3, pageAuthority: 100 / 7, spamScore: 200 / 3 }
    const outcomes = Array<Outcome>(50).fill(Outcome.Checked({ metrics }))
    const told = { urls, outcomes, creditsUsed: Credits.make(50) }
    assert.isAbove(BatchAnswer.body(told).length, 300_000)
    assert.isBelow(BatchAnswer.kept(told).length, 4000)
  })
})
