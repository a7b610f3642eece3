/** Maps the errors of the generated HTTP client to the errors of `ClientError`. */
import type { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import type { ParseError } from "effect/ParseResult"
import * as Envelope from "../contract/Envelope.ts"
import * as ClientError from "./ClientError.ts"

type ContractError =
  // The framework declares HttpApiDecodeError, but this service never sends it.
  HttpApiDecodeError | Envelope.EnvelopeError | HttpClientError | ParseError

/** Maps one error. `response` is undefined when there was no answer. */
export const failureOf = (
  error: ContractError,
  response: HttpClientResponse | undefined,
): ClientError.AnyClientError => {
  if (response === undefined || isBroken(error)) return connectionFailed(error)
  const { headers, status } = response
  const details = { message: error.message, requestId: headers["x-request-id"] }
  if (status === 500 && Envelope.isUndecidedCharge(error.message)) {
    return new ClientError.ChargeUndecided(details)
  }
  switch (error._tag) {
    case "InvalidRequest":
      return new ClientError.ValidationError({ ...details, issues: error.issues })
    case "Unauthorized":
      return new ClientError.Unauthorized(details)
    case "PaymentRequired":
      return new ClientError.InsufficientCredits(details)
    case "Conflict":
      return new ClientError.RequestInProgress({
        ...details,
        retryAfterMs: waitMs(headers["retry-after"]),
      })
    case "UnprocessableContent":
      return new ClientError.IdempotencyKeyReused(details)
    default:
      return undeclared(
        status,
        isFromService(error) ? details : { ...details, message: messageOf(status) },
        {
          retryAfter: headers["retry-after"],
          cause: error._tag === "ParseError" ? error : undefined,
        },
      )
  }
}

/** Maps by the status alone, because the body of a proxy's answer cannot be trusted. */
const undeclared = (
  status: number,
  details: { readonly message: string; readonly requestId: string | undefined },
  { cause, retryAfter }: { readonly cause: unknown; readonly retryAfter: string | undefined },
): ClientError.AnyClientError => {
  if (status === 429) {
    return new ClientError.RateLimited({ ...details, retryAfterMs: waitMs(retryAfter) })
  }
  const retryAfterMs = retryAfter === undefined ? 0 : waitMs(retryAfter)
  return status >= 500
    ? new ClientError.ServiceFailed({ ...details, status, cause, retryAfterMs })
    : new ClientError.UnexpectedAnswer({ ...details, status, cause })
}

const isFromService = ({ _tag }: ContractError) =>
  _tag === "TooManyRequests" ||
  _tag === "InternalServerError" ||
  _tag === "ServiceUnavailable" ||
  _tag === "PayloadTooLarge"

const messageOf = (status: number) =>
  status >= 500
    ? `The service answered with the status ${status}.`
    : `The answer, of status ${status}, is not one of this service: check the base URL.`

/** True when the answer broke off. For an unexpected status, the error has no cause. */
const isBroken = (error: ContractError) =>
  error._tag === "ResponseError" && error.cause !== undefined

/** Keeps only the cause, because the error itself contains the request and so the API key. */
const connectionFailed = (error: ContractError) =>
  new ClientError.ConnectionFailed({
    message: `No connection to the service: ${innermost(error)}.`,
    cause: error.cause,
  })

/** `fetch` only reports "fetch failed". The real reason is the innermost cause. */
const innermost = (error: Error): string =>
  error.cause instanceof Error
    ? innermost(error.cause)
    : error.message || ("code" in error ? String(error.code) : error.name)

/** Parses `Retry-After`: seconds or a date (RFC 9110). One second when absent or invalid. */
const waitMs = (retryAfter: string | undefined): number => {
  const seconds = Number(retryAfter ?? "1")
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter ?? "") - Date.now() : seconds * 1000
  return Number.isFinite(ms) ? Math.max(0, ms) : 1000
}
