/**
 * Tests that the promise client's own response schemas accept the same bodies as the contract's.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as fc from "effect/FastCheck"
import * as Schema from "effect/Schema"
import type { GenericSchema } from "valibot"
import * as AnswerSchemas from "../../src/client/AnswerSchemas.ts"
import {
  BatchResponse,
  CreditsResponse,
  PreviewResponse,
  StatementResponse,
} from "../../src/contract/Api.ts"
import * as Envelope from "../../src/contract/Envelope.ts"
import type * as Wire from "../../src/contract/Wire.ts"
import { runs } from "../support/properties.ts"

type Same<A, B> = [A, B] extends [B, A] ? true : false

/** Does not compile if a type of the promise client differs from the contract's type. */
const areSame: [
  Same<Wire.BatchAnswer, typeof BatchResponse.Encoded>,
  Same<Wire.PreviewAnswer, typeof PreviewResponse.Encoded>,
  Same<Wire.CreditsAnswer, typeof CreditsResponse.Encoded>,
  Same<Wire.StatementAnswer, typeof StatementResponse.Encoded>,
  Same<Wire.Refusal, typeof Envelope.Unauthorized.body.Encoded>,
] = [true, true, true, true, true]

const isRead = <A>(contract: Schema.Schema<A>, client: GenericSchema<unknown, unknown>) =>
  fc.assert(
    fc.property(Arbitrary.make(contract), (body) => {
      const json: unknown = JSON.parse(JSON.stringify(body))
      assert.deepStrictEqual(AnswerSchemas.parse(client, json), json)
    }),
    { numRuns: runs(125) },
  )

describe("the promise client's response schemas", () => {
  it("the promise client reads every answer of the contract unchanged", () => {
    assert.notInclude(areSame, false)
    isRead(Schema.typeSchema(BatchResponse), AnswerSchemas.BatchAnswer)
    isRead(Schema.typeSchema(PreviewResponse), AnswerSchemas.PreviewAnswer)
    isRead(Schema.typeSchema(CreditsResponse), AnswerSchemas.CreditsAnswer)
    isRead(Schema.typeSchema(StatementResponse), AnswerSchemas.StatementAnswer)
    isRead(Schema.encodedSchema(Envelope.Unauthorized.body), AnswerSchemas.Refusal)
  })

  it("the promise client reads every issue of a 400 answer unchanged", () =>
    fc.assert(
      fc.property(Arbitrary.make(Schema.encodedSchema(Envelope.InvalidRequest.body)), (body) => {
        const json = JSON.parse(JSON.stringify(body))
        const { issues } = json.error
        assert.deepStrictEqual(AnswerSchemas.parse(AnswerSchemas.InvalidRequest, json), {
          error: { issues },
        })
      }),
      { numRuns: runs(125) },
    ))
})
