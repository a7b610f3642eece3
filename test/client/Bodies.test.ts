/** The promise client checks bodies without the contract's schemas, but by the same rules. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { GenericSchema } from "valibot"
import * as Bodies from "../../src/client/Bodies.ts"
import { violations } from "../../src/client/Request.ts"
import { BatchRequest, BatchResponse, CreditsResponse } from "../../src/contract/Api.ts"
import * as Envelope from "../../src/contract/Envelope.ts"
import * as Issues from "../../src/contract/Issues.ts"
import { maxUrlLength } from "../../src/contract/Limits.ts"
import type * as Wire from "../../src/contract/Wire.ts"
import { runs } from "../support/properties.ts"

type Same<A, B> = [A, B] extends [B, A] ? true : false

/** Fails to compile when a type of the promise client differs from the contract's type. */
const areSame: [
  Same<Wire.BatchAnswer, typeof BatchResponse.Encoded>,
  Same<Wire.CreditsAnswer, typeof CreditsResponse.Encoded>,
  Same<Wire.Refusal, typeof Envelope.Unauthorized.body.Encoded>,
  Same<Wire.InvalidRequest, typeof Envelope.InvalidRequest.body.Encoded>,
  Same<Wire.Issue, Issues.Issue>,
] = [true, true, true, true, true]

const ofContract = {
  BatchAnswer: Schema.typeSchema(BatchResponse),
  CreditsAnswer: Schema.typeSchema(CreditsResponse),
  Refusal: Schema.encodedSchema(Envelope.Unauthorized.body),
  InvalidRequest: Schema.encodedSchema(Envelope.InvalidRequest.body),
}

/** Values near the limits of the contract. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(-1, -0.5, 0, 0.5, 99.9, 100, 100.1, 2 ** 53, true, false, null, "", [], {}),
  fc.constantFrom("too_small", "invalid_type", "INVALID_URL", "ValidationError", "array"),
)

/** Replaces or removes one part of a body, chosen by the numbers. */
const changed = (body: unknown, path: ReadonlyArray<number>, put: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined || typeof body !== "object" || body === null) return put
  const entries = Object.entries(body)
  if (entries.length === 0) return put
  const at = step % entries.length
  const change = (part: unknown) => changed(part, rest, put)
  if (Array.isArray(body)) return body.map((part, i) => (i === at ? change(part) : part))
  return Object.fromEntries(
    entries.flatMap(([key, part], i) => {
      if (i !== at) return [[key, part]]
      const changedPart = change(part)
      return changedPart === undefined ? [] : [[key, changedPart]]
    }),
  )
}

const isSame = <A>(contract: Schema.Schema<A>, client: GenericSchema<unknown, A>) => {
  const path = fc.array(fc.nat(60), { maxLength: 7 })
  const bodies = fc.oneof(
    value,
    Arbitrary.make(contract),
    fc
      .tuple(Arbitrary.make(contract), path, fc.option(value, { nil: undefined }))
      .map(([body, path, put]) => changed(body, path, put)),
  )
  let accepted = 0
  let rejected = 0
  fc.assert(
    fc.property(bodies, (body) => {
      const json: unknown = JSON.parse(JSON.stringify(body) ?? "null")
      const decoded = Schema.decodeUnknownEither(contract)(json)
      assert.deepStrictEqual(
        Bodies.parse(client, json),
        Either.getOrElse(decoded, () => undefined),
      )
      if (Either.isRight(decoded)) accepted++
      else rejected++
    }),
    { numRuns: runs(250) },
  )
  assert.isAbove(accepted, 25)
  assert.isAbove(rejected, 25)
}

describe("the promise client accepts and rejects the same bodies as the contract", () => {
  it("the promise client and the API contract accept and reject the same batch answers", () =>
    isSame(ofContract.BatchAnswer, Bodies.BatchAnswer))
  it("the promise client and the API contract accept and reject the same answers of the available-credits endpoint", () =>
    isSame(ofContract.CreditsAnswer, Bodies.CreditsAnswer))
  it("the promise client and the API contract accept and reject the same error bodies", () =>
    isSame(ofContract.Refusal, Bodies.Refusal))
  it("the promise client and the API contract accept and reject the same bodies of a 400 answer", () =>
    isSame(ofContract.InvalidRequest, Bodies.InvalidRequest))
})

describe("a client that validates a list itself", () => {
  it("the client finds the same issues in a list of URLs as the service", () => {
    assert.notInclude(areSame, false)
    const url = fc.oneof(
      fc.constantFrom("", "a", "x".repeat(maxUrlLength), "x".repeat(maxUrlLength + 1)),
      fc.jsonValue(),
    )
    const list = fc.oneof(
      fc.array(url, { maxLength: 3 }),
      fc.integer({ min: 49, max: 52 }).map((n) => Array<string>(n).fill("")),
      fc.jsonValue(),
    )
    const validate = ParseResult.validateEither(BatchRequest, { errors: "all" })
    fc.assert(
      fc.property(list, (urls) => {
        const validated = validate({ urls })
        const issues = Either.isLeft(validated) ? Issues.fromParseIssue(validated.left) : []
        assert.deepStrictEqual(violations(urls), issues)
      }),
      { numRuns: runs(125) },
    )
  })
})
