/**
 * What can go wrong between a client and the service. Each is a class of its own, to be told apart
 * by `_tag` or by `instanceof`, and all are `ClientError`s.
 */
import * as Data from "effect/Data"
import type { Issue } from "../contract/Issues.ts"

interface Told {
  readonly message: string
  /** What the operator of the service can find the request by, where there was an answer. */
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

export abstract class ClientError extends Data.Error<Told> {
  abstract readonly _tag: string
  /** Of the answer; undefined when there was none. */
  abstract readonly status: number | undefined
  /** The same request may do better in a while. */
  readonly isTransient: boolean = false
  override get name() {
    return this._tag
  }
}

/** The request violates the contract; it may not even have been sent. */
export class ValidationError extends ClientError {
  readonly _tag = "ValidationError"
  readonly status = 400
  /** Every violation. */
  readonly issues: ReadonlyArray<Issue>

  constructor(told: Told & { readonly issues: ReadonlyArray<Issue> }) {
    super(told)
    this.issues = told.issues
  }
}

/** The key is absent, invalid, expired or revoked. */
export class Unauthorized extends ClientError {
  readonly _tag = "Unauthorized"
  readonly status = 401
}

/** The account has fewer credits than the batch may cost; nothing was charged. */
export class InsufficientCredits extends ClientError {
  readonly _tag = "InsufficientCredits"
  readonly status = 402
}

/** Another request with the same idempotency key has no answer yet. */
export class RequestInProgress extends ClientError {
  readonly _tag = "RequestInProgress"
  readonly status = 409
  override readonly isTransient = true
  /** How long the service asks to wait. */
  readonly retryAfterMs: number

  constructor(told: Told & { readonly retryAfterMs: number }) {
    super(told)
    this.retryAfterMs = told.retryAfterMs
  }
}

/** The idempotency key was used for other URLs. */
export class IdempotencyKeyReused extends ClientError {
  readonly _tag = "IdempotencyKeyReused"
  readonly status = 422
}

/** The account asks more often than the service's operator lets it. */
export class RateLimited extends ClientError {
  readonly _tag = "RateLimited"
  readonly status = 429
  override readonly isTransient = true
  /** How long the service asks to wait. */
  readonly retryAfterMs: number

  constructor(told: Told & { readonly retryAfterMs: number }) {
    super(told)
    this.retryAfterMs = told.retryAfterMs
  }
}

/**
 * The service broke, or is not ready: a status of 500 or more. Nothing was charged, or the request's
 * idempotency key collects the answer.
 */
export class ServiceFailed extends ClientError {
  readonly _tag = "ServiceFailed"
  readonly status: number
  override readonly isTransient = true
  /** How long the service asks to wait; 0 where it does not say. */
  readonly retryAfterMs: number

  constructor(told: Told & { readonly status: number; readonly retryAfterMs?: number }) {
    super(told)
    this.status = told.status
    this.retryAfterMs = told.retryAfterMs ?? 0
  }
}

/**
 * The service does not know whether a request without an idempotency key was charged. The account's
 * statement has the charge under the request id.
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

/** There was no answer in time. */
export class TimedOut extends ClientError {
  readonly _tag = "TimedOut"
  readonly status = undefined
  override readonly isTransient = true
}

/** The answer is not this service's: another program, or a proxy, has given it. */
export class UnexpectedAnswer extends ClientError {
  readonly _tag = "UnexpectedAnswer"
  readonly status: number

  constructor(told: Told & { readonly status: number }) {
    super(told)
    this.status = told.status
  }
}

/** Every one of them, for a `switch` over `_tag`. */
export type AnyClientError =
  | ValidationError
  | Unauthorized
  | InsufficientCredits
  | RequestInProgress
  | IdempotencyKeyReused
  | RateLimited
  | ServiceFailed
  | ChargeUndecided
  | ConnectionFailed
  | TimedOut
  | UnexpectedAnswer
