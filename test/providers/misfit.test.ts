import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../src/database/rows/TypeGuard.ts"
import { misfit } from "../../src/providers/vendors/misfit.ts"
import { Score } from "../../src/check/Metrics.ts"

const decode = TypeGuard.decoder(
  Schema.Struct({ tasks: Schema.Array(Schema.Struct({ rank: Score })) }),
)

for (const [answer, words] of [
  [{ task: [] }, "the field tasks is missing"],
  [{ tasks: [{ rank: 1 }, { Rank: 2 }] }, "the field tasks.1.rank is missing"],
  [{ tasks: [{ rank: "1" }] }, 'the field tasks.0.rank: Expected number, actual "1"'],
  [[], "it is not an object of the known form"],
] as const) {
  it(`of the answer ${JSON.stringify(answer)}, ${words}`, () => {
    const decoded = decode(answer)
    if (decoded._tag === "Right") assert.fail("the answer fits")
    else assert.strictEqual(misfit(decoded.left), words)
  })
}
