/** Compares the answers to errors with the schemas of the contract. */
import { assert, it } from "@effect/vitest"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as Envelope from "../../src/contract/Envelope.ts"
import { exampleIssue } from "../../src/contract/Issues.ts"
import * as errorAnswer from "../../src/http/errorAnswer.ts"

const retryLater = { "retry-after": "1" }

const cases = [
  [Envelope.Unauthorized, new Envelope.Unauthorized({ message: "no" }), {}],
  [Envelope.PaymentRequired, new Envelope.PaymentRequired({ message: "no" }), {}],
  [Envelope.Conflict, new Envelope.Conflict({ message: "no" }), retryLater],
  [Envelope.PayloadTooLarge, new Envelope.PayloadTooLarge({ message: "ü" }), {}],
  [Envelope.UnprocessableContent, new Envelope.UnprocessableContent({ message: "no" }), {}],
  [Envelope.TooManyRequests, new Envelope.TooManyRequests({ message: "no" }), {}],
  [Envelope.InternalServerError, new Envelope.InternalServerError({ message: "no" }), {}],
  [Envelope.ServiceUnavailable, new Envelope.ServiceUnavailable({ message: "no" }), retryLater],
  [
    Envelope.InvalidRequest,
    new Envelope.InvalidRequest({ message: "no", issues: [exampleIssue] }),
    {},
  ],
] as const

const all = Schema.Union(...cases.map(([{ body }]) => body))

it.each(cases)(
  "an error has the status and the body of its schema in the contract",
  (of, error, more) => {
    const { body, headers, status } = errorAnswer.of(error)
    assert.strictEqual(status, HttpApiSchema.getStatusErrorAST(of.body.ast))
    assert.deepStrictEqual(JSON.parse(body), Schema.encodeSync(all)(error))
    assert.deepStrictEqual(headers, {
      ...more,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
    })
  },
)
