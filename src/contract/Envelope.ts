/**
 * The one shape of every answer: `success`, and either the data or a message. Errors of the domain
 * get their status and body here; nothing of the inside shows in either.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { Issue } from "./Issues.ts"
import { maxJudgedItems } from "./Limits.ts"

export const internalErrorMessage = "Internal server error."

export const unavailableMessage =
  "The database did not answer in time, and nothing is charged; try again in a while."

/** A named request may be charged, and its answer is then collected by its key. */
export const undecidedMessage =
  "The database did not answer in time; send the same request with the same Idempotency-Key again."

const undecidedCharge =
  "The database did not answer in time, and this request may have been charged: " +
  "look in the account's statement for the request id "

/** The message of a 500 whose request has no idempotency key and must not be sent again blindly. */
export const undecidedChargeMessage = (requestId: string) => `${undecidedCharge}${requestId}.`

export const isUndecidedCharge = (message: string) => message.startsWith(undecidedCharge)

/** The header `Retry-After` of a 409 and a 503, in seconds. A killed process is found gone within 8. */
export const retryAfterSeconds = 1

const failed = { success: Schema.Literal(false), message: Schema.String }

/** The body of an error of `status`; the typed client makes the error out of it again. */
const envelope = <E extends { readonly message: string }>(
  error: Schema.Schema<E>,
  /** Without validation: the message is a string, and no start builds a parser for an example. */
  make: (message: string) => E,
  status: number,
  identifier: string,
  description: string,
  example: string,
) =>
  Schema.transform(Schema.Struct(failed), error, {
    strict: true,
    decode: ({ message }) => make(message),
    encode: (_, { message }) => ({ success: false as const, message }),
  }).annotations(
    HttpApiSchema.annotations({ status, identifier, description, examples: [make(example)] }),
  )

const invalidRequestMessage =
  "Send the header Content-Type: application/json and a valid JSON body."

export const invalidRequestDescription =
  "The request violates the contract; `error.issues` names every violation, in a list those of its " +
  `first ${maxJudgedItems} items.`

export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  issues: Schema.Array(Issue),
}) {
  /** The violations, with the message of every 400. */
  static because(issues: ReadonlyArray<Issue>) {
    return new InvalidRequest({ message: invalidRequestMessage, issues }, true)
  }

  static readonly body = Schema.transform(
    Schema.Struct({
      ...failed,
      error: Schema.Struct({
        issues: Schema.Array(Issue),
        name: Schema.Literal("ValidationError"),
      }),
    }),
    Schema.typeSchema(InvalidRequest),
    {
      strict: true,
      decode: ({ error, message }) => new InvalidRequest({ message, issues: error.issues }),
      encode: (_, { issues, message }) => ({
        success: false as const,
        message,
        error: { issues, name: "ValidationError" as const },
      }),
    },
  ).annotations(
    HttpApiSchema.annotations({
      status: 400,
      identifier: "InvalidRequest",
      description: invalidRequestDescription,
      examples: [
        InvalidRequest.because([
          {
            code: "too_small",
            minimum: 1,
            type: "array",
            inclusive: true,
            exact: false,
            message: "Array must contain at least 1 element(s)",
            path: ["urls"],
          },
        ]),
      ],
    }),
  )
}

export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {
  message: Schema.String,
}) {
  static readonly body = envelope(
    Schema.typeSchema(Unauthorized),
    (message) => new Unauthorized({ message }, true),
    401,
    "Unauthorized",
    "The API key is absent, invalid or expired.",
    "The API key is invalid or expired.",
  )
}

export class PaymentRequired extends Schema.TaggedError<PaymentRequired>()("PaymentRequired", {
  message: Schema.String,
}) {
  static readonly body = envelope(
    Schema.typeSchema(PaymentRequired),
    (message) => new PaymentRequired({ message }, true),
    402,
    "PaymentRequired",
    "The account has fewer credits than the request may cost; nothing was charged.",
    "This request needs 2 credits and the account has 1.",
  )
}

export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", {
  message: Schema.String,
}) {
  static readonly body = envelope(
    Schema.typeSchema(Conflict),
    (message) => new Conflict({ message }, true),
    409,
    "Conflict",
    "A request with the same Idempotency-Key is in progress; `Retry-After` tells how long to wait.",
    "A request with this Idempotency-Key is in progress; try again when it has ended.",
  )
}

export class UnprocessableContent extends Schema.TaggedError<UnprocessableContent>()(
  "UnprocessableContent",
  { message: Schema.String },
) {
  static readonly body = envelope(
    Schema.typeSchema(UnprocessableContent),
    (message) => new UnprocessableContent({ message }, true),
    422,
    "UnprocessableContent",
    "The Idempotency-Key was used with another body.",
    "This Idempotency-Key was used with another body; use a new key for a new request.",
  )
}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", {
  message: Schema.String,
}) {
  static readonly body = envelope(
    Schema.typeSchema(PayloadTooLarge),
    (message) => new PayloadTooLarge({ message }, true),
    413,
    "PayloadTooLarge",
    "The body is larger than any valid request.",
    "The body exceeds the limit of 524288 bytes.",
  )
}

export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  message: Schema.String,
}) {
  static readonly body = envelope(
    Schema.typeSchema(TooManyRequests),
    (message) => new TooManyRequests({ message }, true),
    429,
    "TooManyRequests",
    "The account asks too often, where the operator has set a limit; `Retry-After` tells how long to wait.",
    "This account may make 600 requests in 1m.",
  )
}

export class InternalServerError extends Schema.TaggedError<InternalServerError>()(
  "InternalServerError",
  { message: Schema.String },
) {
  static readonly body = envelope(
    Schema.typeSchema(InternalServerError),
    (message) => new InternalServerError({ message }, true),
    500,
    "InternalServerError",
    "Something broke inside the service. Nothing was charged, unless the database was lost, or did not " +
      "answer in time, in the very moment of the charge: such a charge is in the account's statement " +
      "under the request's `x-request-id`, and its answer is collected by the `Idempotency-Key`.",
    internalErrorMessage,
  )
}

export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()(
  "ServiceUnavailable",
  { message: Schema.String },
) {
  static readonly body = envelope(
    Schema.typeSchema(ServiceUnavailable),
    (message) => new ServiceUnavailable({ message }, true),
    503,
    "ServiceUnavailable",
    "The database did not answer in time. `Retry-After` tells how long to wait before the same request " +
      "is sent again. Nothing is charged for it, unless it has an `Idempotency-Key`: then the same key " +
      "collects the answer that was charged, or starts anew.",
    unavailableMessage,
  )
}

/** Every error of the contract. */
export type EnvelopeError =
  | InvalidRequest
  | Unauthorized
  | PaymentRequired
  | Conflict
  | UnprocessableContent
  | PayloadTooLarge
  | TooManyRequests
  | InternalServerError
  | ServiceUnavailable
