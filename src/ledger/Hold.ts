/**
 * What a request passes to the ledger (a hold, an idempotency key and a charge), and the errors.
 */
import * as Data from "effect/Data"
import type { AccountId } from "../accounts/Account.ts"
import type { ApiKeyId } from "../accounts/ApiKey.ts"
import type { FailureCounts } from "../check/Metrics.ts"
import type { RequestId } from "../check/RequestId.ts"
import type { Credits } from "./Credits.ts"

/** The client's name for a request. A key is unique within its account only. */
export interface IdempotencyKey {
  readonly key: string
  /** Hash of the submitted URLs and the honoured preferences. */
  readonly fingerprint: string
}

/** How long a ledger keeps a stored answer, in milliseconds. */
export const retentionMs = 24 * 60 * 60 * 1000

/** Credits set aside for one request. */
export interface Hold {
  readonly accountId: AccountId
  /** Identifies both the request and its only hold. */
  readonly requestId: RequestId
  readonly amount: Credits
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** The most credits that the client lets the request cost; absent when it sets no limit. */
  readonly limit?: Credits | undefined
  /** The API key whose budget pays for the hold; absent when it is not known. */
  readonly apiKeyId?: ApiKeyId | null | undefined
}

/** The final cost of a request. */
export interface Charge {
  /** Credits to charge, at most the hold's amount. A charge of 0 makes no ledger entry. */
  readonly amount: Credits
  /** Number of successful checks that the charge pays for. */
  readonly urls: number
  /** How many of these checks were answered from the cache; 0 when absent. */
  readonly known?: number | undefined
  /** The number of failed checks by reason; none when absent. */
  readonly failed?: FailureCounts | undefined
}

const credits = (n: number) => `${n} ${n === 1 ? "credit" : "credits"}`

export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly required: number
  readonly available: number
}> {
  override get message() {
    return `This request needs ${credits(this.required)} and the account has ${this.available}.`
  }
}

/** A correction would take credits that are already charged or held. */
export class CorrectionTooLarge extends Data.TaggedError("CorrectionTooLarge")<{
  readonly amount: Credits
  readonly available: number
}> {
  override get message() {
    return `only ${credits(this.available)} can be taken away, because what is charged or held stays; correct at most that, or suspend the account`
  }
}

/** The account's grants would add up to more than 2^53 - 1 credits. */
export class GrantTooLarge extends Data.TaggedError("GrantTooLarge")<{
  readonly grantable: number
}> {
  override get message() {
    return `the account can get at most ${credits(this.grantable)} more`
  }
}

/** The request may cost more than the client's header `x-max-credits` allows. */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<{
  readonly required: Credits
  readonly limit: Credits
}> {
  override get message() {
    return `This request needs ${credits(this.required)} and its limit in x-max-credits is ${this.limit}.`
  }
}

/**
 * The hold has ended: its lease is over, or another request owns the idempotency key. The held
 * credits are returned and nothing is charged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{
  readonly requestId: RequestId
}> {
  override get message() {
    return `request ${this.requestId} was not charged, because its hold ended before the charge`
  }
}

/**
 * The first request with this idempotency key had another fingerprint. The message says "body"
 * because the body contains only the URLs.
 */
export class IdempotencyKeyReused extends Data.TaggedError("IdempotencyKeyReused") {
  override get message() {
    return "This Idempotency-Key was used with another body; use a new key for a new request."
  }
}

export class IdempotencyKeyInUse extends Data.TaggedError("IdempotencyKeyInUse") {
  override get message() {
    return "A request with this Idempotency-Key is in progress; try again when it has ended."
  }
}
