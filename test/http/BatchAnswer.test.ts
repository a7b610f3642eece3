import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as fc from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { BatchResponse } from "../../src/contract/Api.ts"
import * as BatchAnswer from "../../src/http/BatchAnswer.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { failed, FailureReason, Metrics, Outcome } from "../../src/check/Metrics.ts"

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  Arbitrary.make(Metrics).map((metrics) => Outcome.Checked({ metrics })),
  fc.constantFrom(...FailureReason.literals).map((reason) => failed(reason, "for the log")),
)
const check = fc.tuple(fc.string({ unit: "binary", maxLength: 1000 }), outcome)
const report = fc
  .record({
    checks: fc.array(check, { minLength: 1, maxLength: 50 }),
    creditsUsed: fc.maxSafeNat().map((n) => Credits.make(n)),
  })
  .map(({ checks, creditsUsed }) => ({
    urls: checks.map(([url]) => url),
    outcomes: checks.map(([, outcome]) => outcome),
    creditsUsed,
  }))

const jsonOf = (report: Parameters<typeof BatchAnswer.of>[0]) =>
  JSON.stringify(BatchAnswer.of(report))

const encode = Schema.encodeSync(BatchResponse)

const decode = Schema.decodeUnknownSync(Schema.parseJson(BatchResponse), {
  onExcessProperty: "error",
})

describe("the JSON of a batch answer", () => {
  it.prop(
    "a batch answer fits the contract and contains the outcome of each URL",
    { report },
    ({ report }) => {
      const json = jsonOf(report)
      const answer = decode(json)
      // The JSON must equal, byte for byte, what the contract's schema encodes.
      assert.strictEqual(json, JSON.stringify(encode(answer)))
      const { data, quota, success } = answer
      const checks = report.urls.map((url, i) => ({ url, outcome: report.outcomes[i] }))
      assert.deepStrictEqual(
        data.successUrls,
        checks.flatMap(({ outcome, url }) =>
          outcome?._tag === "Checked" ? [{ url, ...outcome.metrics }] : [],
        ),
      )
      assert.deepStrictEqual(
        data.failedUrls,
        checks.flatMap(({ outcome, url }) =>
          outcome?._tag === "Failed" ? [{ url, reason: outcome.reason }] : [],
        ),
      )
      assert.deepStrictEqual([success, quota], [true, { creditsUsed: report.creditsUsed }])
    },
  )
})
