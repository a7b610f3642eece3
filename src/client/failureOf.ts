/** Maps failed requests to the errors of `ClientError`. */
import { undecidedCharge } from "../contract/Wire.ts"
import { retryAfterMs } from "../contract/retryAfter.ts"
import * as Bodies from "./Bodies.ts"
import * as ClientError from "./ClientError.ts"

/** An HTTP answer. `body` is a JSON value, or text when the body is not JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** Maps an answer other than a valid 200 to an error. */
export const failureOf = ({ body, headers, status }: Answer): ClientError.AnyClientError => {
  // When the body is not an error document of this service, use only the status: a proxy may have
  // answered.
  const message = Bodies.parse(Bodies.Refusal, body)?.message
  const requestId = headers.get("x-request-id") ?? undefined
  const details = { message: message ?? messageOf(status), requestId, answer: body }
  const askedMs = retryAfterMs(headers.get("retry-after"), Date.now())
  if (status === 429) {
    return new ClientError.RateLimited({ ...details, retryAfterMs: askedMs ?? 1000 })
  }
  if (status === 500 && message?.startsWith(undecidedCharge)) {
    return new ClientError.ChargeUndecided(details)
  }
  if (status >= 500) {
    return new ClientError.ServiceFailed({ ...details, status, retryAfterMs: askedMs ?? 0 })
  }
  if (message !== undefined) {
    if (status === 401) return new ClientError.Unauthorized(details)
    if (status === 403) return new ClientError.Forbidden(details)
    if (status === 402) {
      const limit = limits.find((one) => one === headers.get("x-limit"))
      return new ClientError.InsufficientCredits({ ...details, limit, retryAfterMs: askedMs })
    }
    if (status === 409) {
      return new ClientError.RequestInProgress({ ...details, retryAfterMs: askedMs ?? 1000 })
    }
    if (status === 422) return new ClientError.IdempotencyKeyReused(details)
  }
  const invalid = status === 400 ? Bodies.parse(Bodies.InvalidRequest, body) : undefined
  return invalid === undefined
    ? new ClientError.UnexpectedAnswer({ ...details, status })
    : new ClientError.ValidationError({ ...details, issues: invalid.error.issues })
}

const limits = ["balance", "budget"] as const

/** A browser hides the status of a redirect: it is 0. */
const isRedirect = (status: number) => status === 0 || (status >= 300 && status < 400)

const messageOf = (status: number) =>
  status >= 500
    ? `The service answered with the status ${status}.`
    : isRedirect(status)
      ? "The base URL redirects to another address, which the client does not follow. Check the base URL."
      : `The answer with the status ${status} does not come from this service. Check the base URL.`

/** `requestId` is undefined when the connection failed before the answer's headers arrived. */
export const connectionFailed = (cause: unknown, requestId?: string) =>
  new ClientError.ConnectionFailed({
    message: `No connection to the service: ${innermost(cause)}.`,
    requestId,
    cause,
  })

// Returns the message of the innermost cause, because `fetch` itself reports only "fetch failed".
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return innermost(error.cause)
  return error.message || ("code" in error ? String(error.code) : error.name)
}
