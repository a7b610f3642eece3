import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { BatchRequest } from "../../src/contract/Api.ts"
import * as TypeGuard from "../../src/database/rows/TypeGuard.ts"
import { Score } from "../../src/check/Metrics.ts"

const isBatch = TypeGuard.make(BatchRequest)
const decodeBatch = Schema.decodeUnknownEither(BatchRequest)

/** Bodies near the limits of the contract, and other JSON values. */
const bodies = FastCheck.oneof(
  FastCheck.record({
    urls: FastCheck.array(FastCheck.string({ maxLength: 1002, size: "max" }), {
      maxLength: 52,
      size: "max",
    }),
  }),
  FastCheck.record({ urls: FastCheck.array(FastCheck.jsonValue()) }),
  FastCheck.jsonValue(),
)

describe("a compiled type guard", () => {
  it.prop(
    "a compiled type guard accepts the same bodies as the schema's decoder",
    [bodies],
    ([body]) => {
      assert.strictEqual(isBatch(body), Either.isRight(decodeBatch(body)))
    },
  )

  const Figures = Schema.Struct({ score: Score, note: Schema.Unknown })
  const decodeFigures = TypeGuard.decoder(Figures)

  it.prop(
    "a compiled decoder has the same result as the schema's own decoder",
    [
      FastCheck.oneof(
        FastCheck.record(
          {
            score: FastCheck.oneof(FastCheck.double(), FastCheck.jsonValue()),
            note: FastCheck.jsonValue(),
          },
          { requiredKeys: ["note"] },
        ),
        FastCheck.jsonValue(),
      ),
    ],
    ([value]) => {
      const own = ParseResult.decodeUnknownEither(Figures, { onExcessProperty: "preserve" })(value)
      const compiled = decodeFigures(value)
      assert.strictEqual(Either.isRight(compiled), Either.isRight(own))
      if (Either.isRight(own)) assert.deepStrictEqual(compiled, own)
    },
  )

  it("a compiled type guard accepts null where the schema allows null", () => {
    const isText = TypeGuard.make(Schema.NullOr(Schema.String))
    assert.deepStrictEqual([null, "", 1, undefined].map(isText), [true, true, false, false])
    const isTime = TypeGuard.make(Schema.Union(Schema.DateFromString, Schema.String))
    assert.isFalse(isTime("2026-01-01"))
  })

  it("a type guard compiled from a schema that only the decoder supports returns false even for a valid value", () => {
    const transformed = TypeGuard.make(
      Schema.typeSchema(Schema.Struct({ at: Schema.DateFromSelf })),
    )
    assert.isFalse(transformed({ at: new Date() }))
    assert.isFalse(TypeGuard.make(Schema.Record({ key: Schema.String, value: Schema.String }))({}))
    assert.isFalse(TypeGuard.make(Schema.Tuple(Schema.String))(["a"]))
  })
})
