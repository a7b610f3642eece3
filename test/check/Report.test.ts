import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as fc from "effect/FastCheck"
import { creditsOf } from "../../src/ledger/Credits.ts"
import { failed, FailureReason, Metrics, Outcome } from "../../src/check/Metrics.ts"
import * as Report from "../../src/check/Report.ts"

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  Arbitrary.make(Metrics).map((metrics) => Outcome.Checked({ metrics })),
  fc.constantFrom(...FailureReason.literals).map((reason) => failed(reason, "as stored")),
)
const answer = fc.record({
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 50 }),
  creditsUsed: fc.maxSafeNat().map(creditsOf),
})

describe("a stored answer", () => {
  it.prop(
    "decoding a stored answer returns the encoded values, except for the sign of zero",
    { answer },
    ({ answer }) => {
      const { creditsUsed, outcomes } = Report.decode(Report.encode(answer))
      assert.strictEqual(creditsUsed, answer.creditsUsed)
      assert.strictEqual(JSON.stringify(outcomes), JSON.stringify(answer.outcomes))
    },
  )

  it("a stored answer has the same format as in every earlier version", () => {
    const outcomes = [
      Outcome.Checked({ metrics: { domainAuthority: 93.5, pageAuthority: 61, spamScore: 2 } }),
      failed("INVALID_URL", "for the log"),
      Outcome.Checked({ metrics: { domainAuthority: 0, pageAuthority: 100 } }),
    ]
    assert.strictEqual(
      Report.encode({ outcomes, creditsUsed: creditsOf(2) }),
      `{"creditsUsed":2,"outcomes":[[93.5,61,2],"INVALID_URL",[0,100]]}`,
    )
  })

  it("a stored answer with 50 outcomes takes less than 4,000 characters", () => {
    const metrics = { domainAuthority: 1 / 3, pageAuthority: 100 / 7, spamScore: 200 / 3 }
    const outcomes = Array<Outcome>(50).fill(Outcome.Checked({ metrics }))
    assert.isBelow(Report.encode({ outcomes, creditsUsed: creditsOf(50) }).length, 4000)
  })
})
