/** What the contract's client fails with becomes an error that says what it means for its caller. */
import type { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import type { ParseError } from "effect/ParseResult"
import * as Envelope from "../contract/Envelope.ts"
import * as ClientError from "./ClientError.ts"

type ContractError =
  // The framework declares it, and this service never sends it.
  HttpApiDecodeError | Envelope.EnvelopeError | HttpClientError | ParseError

/** `response`: the answer, where there was one. */
export const failureOf = (
  error: ContractError,
  response: HttpClientResponse | undefined,
): ClientError.AnyClientError => {
  if (response === undefined || isBroken(error)) return connectionFailed(error)
  const { headers, status } = response
  const told = { message: error.message, requestId: headers["x-request-id"] }
  if (status === 500 && Envelope.isUndecidedCharge(error.message)) {
    return new ClientError.ChargeUndecided(told)
  }
  switch (error._tag) {
    case "InvalidRequest":
      return new ClientError.ValidationError({ ...told, issues: error.issues })
    case "Unauthorized":
      return new ClientError.Unauthorized(told)
    case "PaymentRequired":
      return new ClientError.InsufficientCredits(told)
    case "Conflict":
      return new ClientError.RequestInProgress({
        ...told,
        retryAfterMs: waitMs(headers["retry-after"]),
      })
    case "UnprocessableContent":
      return new ClientError.IdempotencyKeyReused(told)
    default:
      return undeclared(status, isFromService(error) ? told : { ...told, message: says(status) }, {
        retryAfter: headers["retry-after"],
        cause: error._tag === "ParseError" ? error : undefined,
      })
  }
}

/** By the status alone: what a proxy says in the service's place has no body to trust. */
const undeclared = (
  status: number,
  told: { readonly message: string; readonly requestId: string | undefined },
  { cause, retryAfter }: { readonly cause: unknown; readonly retryAfter: string | undefined },
): ClientError.AnyClientError => {
  if (status === 429) {
    return new ClientError.RateLimited({ ...told, retryAfterMs: waitMs(retryAfter) })
  }
  const retryAfterMs = retryAfter === undefined ? 0 : waitMs(retryAfter)
  return status >= 500
    ? new ClientError.ServiceFailed({ ...told, status, cause, retryAfterMs })
    : new ClientError.UnexpectedAnswer({ ...told, status, cause })
}

const isFromService = ({ _tag }: ContractError) =>
  _tag === "TooManyRequests" ||
  _tag === "InternalServerError" ||
  _tag === "ServiceUnavailable" ||
  _tag === "PayloadTooLarge"

const says = (status: number) =>
  status >= 500
    ? `The service answered with the status ${status}.`
    : `The answer, of status ${status}, is not one of this service: check the base URL.`

/** The answer began, and did not arrive as a whole. Of a strange status the error has no cause. */
const isBroken = (error: ContractError) =>
  error._tag === "ResponseError" && error.cause !== undefined

/** The error itself holds the request, and with it the key, so only its cause is handed on. */
const connectionFailed = (error: ContractError) =>
  new ClientError.ConnectionFailed({
    message: `No connection to the service: ${innermost(error)}.`,
    cause: error.cause,
  })

/** `fetch` says "fetch failed", and what has happened is in the cause of the cause. */
const innermost = (error: Error): string =>
  error.cause instanceof Error
    ? innermost(error.cause)
    : error.message || ("code" in error ? String(error.code) : error.name)

/** Seconds, or a date (RFC 9110); a second where neither is told. */
const waitMs = (retryAfter: string | undefined): number => {
  const seconds = Number(retryAfter ?? "1")
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter ?? "") - Date.now() : seconds * 1000
  return Number.isFinite(ms) ? Math.max(0, ms) : 1000
}
