/** Maps failed requests to the errors of `ClientError`. */
import { undecidedCharge } from "../contract/Wire.ts"
import type { Answer } from "./Answer.ts"
import * as Bodies from "./Bodies.ts"
import * as ClientError from "./ClientError.ts"

/**
 * Maps an answer other than a valid 200 to an error. `cause` says why the body of a 200 is invalid.
 */
export const failureOf = (
  { body, header, status }: Answer,
  cause?: unknown,
): ClientError.AnyClientError => {
  // When the body is not an error document of this service, use only the status: a proxy may have
  // answered.
  const message = Bodies.parse(Bodies.Refusal, body)?.message
  const details = {
    message: message ?? messageOf(status),
    requestId: header("x-request-id"),
    answer: body,
    cause,
  }
  const retryAfter = header("retry-after")
  if (status === 429) {
    return new ClientError.RateLimited({ ...details, retryAfterMs: waitMs(retryAfter) })
  }
  if (status === 500 && message?.startsWith(undecidedCharge)) {
    return new ClientError.ChargeUndecided(details)
  }
  if (status >= 500) {
    const retryAfterMs = retryAfter === undefined ? 0 : waitMs(retryAfter)
    return new ClientError.ServiceFailed({ ...details, status, retryAfterMs })
  }
  if (message !== undefined) {
    if (status === 401) return new ClientError.Unauthorized(details)
    if (status === 402) return new ClientError.InsufficientCredits(details)
    if (status === 409) {
      return new ClientError.RequestInProgress({ ...details, retryAfterMs: waitMs(retryAfter) })
    }
    if (status === 422) return new ClientError.IdempotencyKeyReused(details)
  }
  const invalid = status === 400 ? Bodies.parse(Bodies.InvalidRequest, body) : undefined
  return invalid === undefined
    ? new ClientError.UnexpectedAnswer({ ...details, status })
    : new ClientError.ValidationError({ ...details, issues: invalid.error.issues })
}

const messageOf = (status: number) =>
  status >= 500
    ? `The service answered with the status ${status}.`
    : `The answer with the status ${status} does not come from this service. Check the base URL.`

/**
 * Makes a ConnectionFailed. `requestId` is undefined when the connection failed before the answer's
 * headers arrived.
 */
export const connectionFailed = (cause: unknown, requestId?: string) =>
  new ClientError.ConnectionFailed({
    message: `No connection to the service: ${innermost(cause)}.`,
    requestId,
    cause,
  })

/**
 * Returns the message of the innermost cause, because `fetch` itself reports only "fetch failed".
 */
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return innermost(error.cause)
  return error.message || ("code" in error ? String(error.code) : error.name)
}

/**
 * Parses `Retry-After`, which is in seconds or a date (RFC 9110), into milliseconds. Returns 1000
 * when the header is absent or invalid.
 */
const waitMs = (retryAfter = "1"): number => {
  const seconds = Number(retryAfter)
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1000
  return Number.isFinite(ms) ? Math.max(0, ms) : 1000
}
