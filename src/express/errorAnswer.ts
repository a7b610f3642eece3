/** Encodes the errors of the fast path with the contract's schemas. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as Envelope from "../contract/Envelope.ts"

const declared = [
  Envelope.PaymentRequired,
  Envelope.Conflict,
  Envelope.UnprocessableContent,
  Envelope.InternalServerError,
  Envelope.ServiceUnavailable,
] as const

const statuses = new Map<string, number>(
  declared.map(({ _tag, body }) => [_tag, HttpApiSchema.getStatusErrorAST(body.ast)]),
)

const encode = Schema.encodeSync(Schema.Union(...declared.map(({ body }) => body)))

/** Returns the status and the JSON body of an error. */
export const of = (
  error: InstanceType<(typeof declared)[number]>,
): readonly [status: number, body: string] => [
  statuses.get(error._tag) ?? 500,
  JSON.stringify(encode(error)),
]
