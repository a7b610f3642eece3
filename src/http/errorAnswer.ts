/** The answers to errors: their status, their headers, and the body that every error has. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Envelope from "../contract/Envelope.ts"

/** Makes the answer to an error that the contract does not declare. */
export const failure = (status: number, message: string) =>
  HttpServerResponse.unsafeJson(Envelope.errorBody(message), { status })

const declared = [
  Envelope.InvalidRequest,
  Envelope.Unauthorized,
  Envelope.PaymentRequired,
  Envelope.Conflict,
  Envelope.PayloadTooLarge,
  Envelope.UnprocessableContent,
  Envelope.TooManyRequests,
  Envelope.InternalServerError,
  Envelope.ServiceUnavailable,
] as const

type Declared = InstanceType<(typeof declared)[number]>

const statuses = new Map<string, number>(
  declared.map(({ _tag, body }) => [_tag, HttpApiSchema.getStatusErrorAST(body.ast)]),
)

/** Makes the answer to an error of the contract. */
export const of = (error: Declared, more: Readonly<Record<string, string>> = headersOf(error)) => {
  const { message } = error
  const body = JSON.stringify(
    error._tag === "InvalidRequest"
      ? Envelope.invalidRequestBody(message, error.issues)
      : Envelope.errorBody(message),
  )
  const length = String(Buffer.byteLength(body))
  const headers = { ...more, "content-type": "application/json", "content-length": length }
  return { status: statuses.get(error._tag) ?? 500, headers, body }
}

/** Fails with the answer to an error of the contract. */
export const refuse = (
  error: Declared,
  more?: Readonly<Record<string, string>>,
): Effect.Effect<never, HttpServerResponse.HttpServerResponse> => {
  const { body, headers, status } = of(error, more)
  return Effect.fail(HttpServerResponse.raw(body, { status, headers }))
}

const headersOf = ({ _tag }: Declared): Readonly<Record<string, string>> =>
  _tag === "Conflict" || _tag === "ServiceUnavailable" ? retryLater : {}

const retryLater = { "retry-after": String(Envelope.retryAfterSeconds) }
