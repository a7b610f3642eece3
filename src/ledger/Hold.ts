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
}

/** What a request turned out to cost. */
export interface Charge {
  /** At most the hold's amount; 0 returns the whole hold and leaves no entry. */
  readonly amount: Credits
  /** How many checks it pays for. */
  readonly urls: number
}

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
