/**
 * The errors of the client. Each error has its own class, which extends `ClientError`. Use `_tag`
 * or `instanceof` to distinguish them.
 */

/** One violated constraint of a request. Some have more fields, such as `minimum`. */
export interface Issue {
  readonly code: string
  readonly message: string
  /** Field names and indexes, for example `["urls", "3"]`. */
  readonly path: ReadonlyArray<string>
  readonly [detail: string]: unknown
}

interface Details {
  readonly message: string
  readonly requestId?: string | undefined
  readonly answer?: unknown
  readonly cause?: unknown
}

export abstract class ClientError extends Error {
  abstract readonly _tag: string
  /** The HTTP status of the answer; undefined when there was no answer. */
  abstract readonly status: number | undefined
  /** True when the same request may succeed later. */
  readonly isTransient: boolean = false
  /** The id of the request in the service's log; undefined when there was no answer. */
  readonly requestId: string | undefined
  /** The body as a JSON value, or as text if it is not JSON; undefined if there was no answer. */
  readonly answer: unknown

  constructor({ answer, cause, message, requestId }: Details) {
    super(message, cause === undefined ? {} : { cause })
    this.requestId = requestId
    this.answer = answer
  }

  override get name() {
    return this._tag
  }
}

/** An error after which the same request may succeed once `retryAfterMs` has passed. */
abstract class Temporary extends ClientError {
  override readonly isTransient = true
  /** How long to wait before a retry, as the service asks in `Retry-After`. */
  readonly retryAfterMs: number

  constructor(details: Details & { readonly retryAfterMs: number }) {
    super(details)
    this.retryAfterMs = details.retryAfterMs
  }
}

/** The request violates the contract. */
export class ValidationError extends ClientError {
  readonly _tag = "ValidationError"
  readonly status = 400
  readonly issues: ReadonlyArray<Issue>

  constructor(details: Details & { readonly issues: ReadonlyArray<Issue> }) {
    super(details)
    this.issues = details.issues
  }
}

/** The API key is absent, invalid, expired or revoked. */
export class Unauthorized extends ClientError {
  readonly _tag = "Unauthorized"
  readonly status = 401
}

/** The API key lacks the scope that the call needs, or its account is suspended. */
export class Forbidden extends ClientError {
  readonly _tag = "Forbidden"
  readonly status = 403
}

/**
 * The highest possible price of the batch exceeds the credits of the account, the budget of the API
 * key, or `maxCredits`. Nothing was charged. The error is transient if running requests hold the
 * missing part of the budget.
 */
export class InsufficientCredits extends ClientError {
  readonly _tag = "InsufficientCredits"
  readonly status = 402
  override readonly isTransient: boolean
  /** What is short; undefined if it is `maxCredits`. */
  readonly limit: "balance" | "budget" | undefined
  /** How long to wait before a retry; 0 if a retry would not help. */
  readonly retryAfterMs: number

  constructor(
    details: Details & {
      readonly limit?: "balance" | "budget" | undefined
      readonly retryAfterMs?: number | undefined
    },
  ) {
    super(details)
    this.limit = details.limit
    this.isTransient = details.retryAfterMs !== undefined
    this.retryAfterMs = details.retryAfterMs ?? 0
  }
}

/** Another request with the same idempotency key has no answer yet. */
export class RequestInProgress extends Temporary {
  readonly _tag = "RequestInProgress"
  readonly status = 409
}

/** The idempotency key was used for other URLs, or with another choice of `provenance`. */
export class IdempotencyKeyReused extends ClientError {
  readonly _tag = "IdempotencyKeyReused"
  readonly status = 422
}

/** The account exceeds its rate limit. */
export class RateLimited extends Temporary {
  readonly _tag = "RateLimited"
  readonly status = 429
}

/**
 * The service failed or is not ready: the status is 500 or more. Either nothing was charged, or a
 * retry with the same idempotency key gets the stored answer and is not charged again.
 * `retryAfterMs` is 0 if the service does not ask for a wait.
 */
export class ServiceFailed extends Temporary {
  readonly _tag = "ServiceFailed"
  readonly status: number

  constructor(details: Details & { readonly status: number; readonly retryAfterMs: number }) {
    super(details)
    this.status = details.status
  }
}

/**
 * The service does not know whether it charged a request without an idempotency key. If the service
 * charged the request, the account's statement lists the charge under the request id.
 */
export class ChargeUndecided extends ClientError {
  readonly _tag = "ChargeUndecided"
  readonly status = 500
}

/** The service cannot be reached, or the connection broke. */
export class ConnectionFailed extends ClientError {
  readonly _tag = "ConnectionFailed"
  readonly status = undefined
  override readonly isTransient = true
}

/** The attempt exceeded its timeout. */
export class TimedOut extends ClientError {
  readonly _tag = "TimedOut"
  readonly status = undefined
  override readonly isTransient = true
}

/**
 * A proxy or another program answered instead of the service, or the client cannot read the answer
 * of the service. In a browser, `status` is 0 for a redirect.
 */
export class UnexpectedAnswer extends ClientError {
  readonly _tag = "UnexpectedAnswer"
  readonly status: number

  constructor(details: Details & { readonly status: number }) {
    super(details)
    this.status = details.status
  }
}

/** The base URL is not valid. Only the creation of a client fails with this error. */
export class InvalidBaseUrl extends ClientError {
  readonly _tag = "InvalidBaseUrl"
  readonly status = undefined
}

/** All errors with which a client's methods can fail, for a `switch` over `_tag`. */
export type AnyClientError =
  | ValidationError
  | Unauthorized
  | Forbidden
  | InsufficientCredits
  | RequestInProgress
  | IdempotencyKeyReused
  | RateLimited
  | ServiceFailed
  | ChargeUndecided
  | ConnectionFailed
  | TimedOut
  | UnexpectedAnswer

export const isClientError = (error: unknown): error is AnyClientError =>
  error instanceof ClientError
