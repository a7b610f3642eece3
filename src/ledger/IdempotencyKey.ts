/** The idempotency key of a request, and the errors of its use. */
import * as Data from "effect/Data"

/** The client's name for a request. A key is unique within its account only. */
export interface IdempotencyKey {
  readonly key: string
  /** Hash of the submitted URLs. */
  readonly fingerprint: string
}

/** How long a ledger keeps a stored answer, in milliseconds. */
export const retentionMs = 24 * 60 * 60 * 1000

/**
 * The first request with this idempotency key had other URLs than this request. The message says
 * "body" because the URLs are the only field of the body that the service reads.
 */
export class IdempotencyKeyReused extends Data.TaggedError("IdempotencyKeyReused") {
  override get message() {
    return "This Idempotency-Key was used with another body; use a new key for a new request."
  }
}

/** The first request with this idempotency key is still in progress. */
export class IdempotencyKeyInUse extends Data.TaggedError("IdempotencyKeyInUse") {
  override get message() {
    return "A request with this Idempotency-Key is in progress; try again when it has ended."
  }
}
