/**
 * The envelope of every answer: `success`, and either the data or a message. Gives each domain
 * error its HTTP status and a body that shows no internal details.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type { YieldableError } from "effect/Cause"
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { exampleIssue, Issue } from "./Issues.ts"
import { maxBodyBytes, maxJudgedItems, maxListsPerSecond, maxRequestsOfKey } from "./Limits.ts"
import { undecidedCharge } from "./Wire.ts"

export const unauthorizedMessage =
  "The API key is invalid or expired. Send it in the header x-api-key."

export const internalErrorMessage = "Internal server error."

export const payloadTooLargeMessage = `The body exceeds the limit of ${maxBodyBytes} bytes.`

/** The message of a 503 when the database timed out and nothing was charged. */
export const unavailableMessage =
  "The database did not answer in time, and nothing is charged; try again in a while."

/**
 * The message of a 503 when the database timed out and a request with an idempotency key may have
 * been charged. A retry with the same key is not charged again.
 */
export const undecidedMessage =
  "The database did not answer in time; send the same request with the same Idempotency-Key again."

/**
 * The message of a 500 when the database timed out and a request without an idempotency key may
 * have been charged. A retry may be charged again.
 */
export const undecidedChargeMessage = (requestId: string) => `${undecidedCharge}${requestId}.`

/**
 * The `Retry-After` of a 409 and a 503, in seconds. One second is enough for most causes, although
 * the idempotency keys of a killed process stay in use until the leases of its holds end.
 */
export const retryAfterSeconds = 1

export const errorBody = (message: string) => ({ success: false as const, message })

const failed = { success: Schema.Literal(false), message: Schema.String }

type Headers = Readonly<Record<string, string>>

export const retryLater: Headers = { "retry-after": String(retryAfterSeconds) }

export interface Failure<Name extends string> extends YieldableError {
  readonly _tag: Name
  readonly status: number
  readonly headers: Headers
}

interface FailureClass<Name extends string> {
  new (given: { readonly message: string; readonly headers?: Headers }): Failure<Name>
  readonly body: Schema.Schema<Failure<Name>, { readonly success: false; readonly message: string }>
}

// Makes the error class of a status and the schema of its body, which has no `_tag`. The typed
// client decodes such a body to an instance of the class.
const failure = <Name extends string>(
  name: Name,
  status: number,
  description: string,
  example: string,
  usualHeaders: Headers = {},
): FailureClass<Name> => {
  class Failure extends Data.TaggedError(name)<{
    readonly message: string
    readonly status: number
    readonly headers: Headers
  }> {
    constructor(given: { readonly message: string; readonly headers?: Headers }) {
      super({ status, headers: usualHeaders, ...given })
    }
  }
  const body = Schema.transform(Schema.Struct(failed), Schema.instanceOf(Failure), {
    strict: true,
    decode: ({ message }) => new Failure({ message }),
    encode: (_, { message }) => errorBody(message),
  }).annotations(
    HttpApiSchema.annotations({
      status,
      identifier: name,
      description,
      examples: [new Failure({ message: example })],
    }),
  )
  return Object.assign(Failure, { body })
}

// The specification prescribes this wording.
const bodyAdvice = "Send the header Content-Type: application/json and a valid JSON body."

// Names the first violation with its path, counts the others, and says what to send.
const invalidRequestMessage = ([first, ...others]: ReadonlyArray<Issue>, hasBody: boolean) => {
  const advice = hasBody ? ` ${bodyAdvice}` : ""
  if (first === undefined) return advice.trim()
  const path = first.path.length === 0 ? "" : `${first.path.join(".")}: `
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`
  return `${path}${first.message}${more}.${advice}`
}

export const invalidRequestDescription =
  "The request violates the contract. `error.issues` lists every violation of the body or of the " +
  `parameters, or one wrong header. Only the first ${maxJudgedItems} items of a list are checked.`

/**
 * Makes the body of a 400. The 400 for invalid HTTP has another body, without the field `error`.
 */
export const invalidRequestBody = (message: string, issues: ReadonlyArray<Issue>) => ({
  ...errorBody(message),
  error: { issues, name: "ValidationError" as const },
})

export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly message: string
  readonly issues: ReadonlyArray<Issue>
}> {
  /**
   * Makes the error from one or more violations. `hasBody` is false when the endpoint takes no
   * body.
   */
  static because(issues: ReadonlyArray<Issue>, hasBody = true) {
    return new InvalidRequest({ message: invalidRequestMessage(issues, hasBody), issues })
  }

  static readonly body = Schema.transform(
    Schema.Struct({
      ...failed,
      error: Schema.Struct({
        issues: Schema.Array(Issue),
        name: Schema.Literal("ValidationError"),
      }),
    }),
    Schema.instanceOf(InvalidRequest),
    {
      strict: true,
      decode: ({ error, message }) => new InvalidRequest({ message, issues: error.issues }),
      encode: (_, { issues, message }) => invalidRequestBody(message, issues),
    },
  ).annotations(
    HttpApiSchema.annotations({
      status: 400,
      identifier: "InvalidRequest",
      description: invalidRequestDescription,
      examples: [InvalidRequest.because([exampleIssue])],
    }),
  )
}

export const Unauthorized = failure(
  "Unauthorized",
  401,
  "The API key is absent, invalid or expired.",
  unauthorizedMessage,
)

export const Forbidden = failure(
  "Forbidden",
  403,
  "The API key does not have the scope that the request needs, or its account is suspended.",
  "The API key does not have the scope check, which this request needs.",
)

export const PaymentRequired = failure(
  "PaymentRequired",
  402,
  "The account has fewer credits than the request may cost (`x-limit: balance`), or the budget " +
    "of the API key has fewer left (`x-limit: budget`), or the request may cost more than its " +
    "header `x-max-credits` allows. Nothing is charged. With `Retry-After`, running requests " +
    "hold what is missing, and a repeat after that many seconds may succeed.",
  "This request needs 2 credits and the account has 1.",
)

export const NotFound = failure(
  "NotFound",
  404,
  "No account or no usable key has this name or id.",
  'no account has the name or id "acme"',
)

/** The request contradicts the current state, so repeating it does not help. */
export const Contradiction = failure(
  "Contradiction",
  409,
  "The name is taken, the grant is too large, or the correction would take more credits than are available.",
  'an account named "acme" exists already',
)

export const Conflict = failure(
  "Conflict",
  409,
  "A request with the same Idempotency-Key is in progress. `Retry-After` gives the seconds to " +
    "wait.",
  "A request with this Idempotency-Key is in progress; try again when it has ended.",
  retryLater,
)

export const UnprocessableContent = failure(
  "UnprocessableContent",
  422,
  "The Idempotency-Key was used with another body.",
  "This Idempotency-Key was used with another body; use a new key for a new request.",
)

export type PayloadTooLarge = InstanceType<typeof PayloadTooLarge>
export const PayloadTooLarge = failure(
  "PayloadTooLarge",
  413,
  "The body is larger than any valid request.",
  payloadTooLargeMessage,
)

export type TooManyRequests = InstanceType<typeof TooManyRequests>
export const TooManyRequests = failure(
  "TooManyRequests",
  429,
  "The account exceeds the rate limit that the operator has set, or asks for history, usage " +
    `and statement more than ${maxListsPerSecond} times a second, or ${maxRequestsOfKey} requests of the API ` +
    "key are under way. `Retry-After` gives the seconds to wait.",
  "The account has reached its rate limit of 600 requests in 1m; try again later.",
)

export const InternalServerError = failure(
  "InternalServerError",
  500,
  "An internal error. Nothing is charged, unless the database failed or timed out during the " +
    "charge. In that case the account's statement shows the charge under the request's " +
    "`x-request-id`, and a repeat with the same `Idempotency-Key` gets the answer.",
  internalErrorMessage,
)

export const ServiceUnavailable = failure(
  "ServiceUnavailable",
  503,
  "The database did not answer in time. " +
    "`Retry-After` gives the seconds to wait before a retry. A request without an " +
    "`Idempotency-Key` is not charged. A retry with the same `Idempotency-Key` gets the stored " +
    "answer if the first request was charged. Otherwise the service processes the retry as a new " +
    "request.",
  unavailableMessage,
  retryLater,
)

const bodies = {
  400: InvalidRequest.body,
  401: Unauthorized.body,
  402: PaymentRequired.body,
  403: Forbidden.body,
  404: NotFound.body,
  409: Conflict.body,
  413: PayloadTooLarge.body,
  422: UnprocessableContent.body,
  429: TooManyRequests.body,
  500: InternalServerError.body,
  503: ServiceUnavailable.body,
}

/** Selects the errors with these statuses for an endpoint. */
export const of = <Status extends keyof typeof bodies>(
  ...statuses: ReadonlyArray<Status>
): Schema.Schema<(typeof bodies)[Status]["Type"], (typeof bodies)[Status]["Encoded"]> =>
  Schema.Union(...statuses.map((status): Schema.Schema.AnyNoContext => bodies[status]))
