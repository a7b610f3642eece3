/** What a request does to the credits of its account, and why it may fail. */
import * as Data from "effect/Data"
import type { AccountId } from "../Account.ts"
import type { RequestId } from "../RequestId.ts"
import type { Credits } from "./LedgerEntry.ts"

/** Credits set aside for one request. */
export interface Hold {
  readonly accountId: AccountId
  /** A request holds once, so its id is the hold's. */
  readonly requestId: RequestId
  readonly amount: Credits
  /** Absent when the client has not named the request. */
  readonly idempotencyKey?: IdempotencyKey | undefined
}

/** The client's name for a request. Keys of two accounts have nothing to do with each other. */
export interface IdempotencyKey {
  readonly key: string
  /** A hash of the question. */
  readonly fingerprint: string
}

/** What a request turned out to cost. */
export interface Charge {
  /** At most the hold's amount; 0 returns the whole hold and leaves no entry. */
  readonly amount: Credits
  /** How many checks it pays for. */
  readonly urls: number
}

/** How long a stored answer can be collected, in milliseconds. */
export const retentionMs = 24 * 60 * 60 * 1000

/** The account has fewer credits than the request may cost. */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly required: number
  readonly available: number
}> {
  override get message() {
    return `This request needs ${this.required} credits and the account has ${this.available}.`
  }
}

/**
 * The hold outlived its lease, or its request lost the idempotency key to another one: the credits
 * went back to the account, and nothing was charged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{
  readonly requestId: RequestId
}> {
  override get message() {
    return `the hold of request ${this.requestId} has ended before it was settled`
  }
}

/** The idempotency key has been used for another question. */
export class IdempotencyKeyReused extends Data.TaggedError("IdempotencyKeyReused") {
  override get message() {
    return "This Idempotency-Key was used with another body; use a new key for a new request."
  }
}

/** The first request with the idempotency key has no answer yet. */
export class IdempotencyKeyInUse extends Data.TaggedError("IdempotencyKeyInUse") {
  override get message() {
    return "A request with this Idempotency-Key is in progress; try again when it has ended."
  }
}
