/**
 * The port to the answers that clients may collect again. A client names a request with an
 * idempotency key; the same key with the same question brings the first answer back, and nothing
 * is charged twice.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { AccountId } from "./Account.ts"
import type { RequestId } from "./RequestId.ts"

/** One request that its client has named. */
export interface Claim {
  readonly accountId: AccountId
  /** The client's idempotency key; keys of two accounts have nothing to do with each other. */
  readonly key: string
  /** A hash of the question. */
  readonly fingerprint: string
  readonly requestId: RequestId
}

/** A claimed request and its answer, in whatever form the interface can give it again. */
export interface Receipt {
  readonly claim: Claim
  readonly body: string
}

/** The key has been used for another question. */
export class KeyReused extends Data.TaggedError("KeyReused") {
  override get message() {
    return "This Idempotency-Key was used with another body; use a new key for a new request."
  }
}

/** The first request with the key has no answer yet. */
export class StillInFlight extends Data.TaggedError("StillInFlight") {
  override get message() {
    return "A request with this Idempotency-Key is in progress; try again when it has ended."
  }
}

export class Receipts extends Context.Tag("authority/Receipts")<
  Receipts,
  {
    /**
     * Reserves the key for this request, or gives the answer that is there already. Fails with
     * KeyReused or StillInFlight, but not for the request that has the key already. A claim whose
     * owner is gone ends with its lease.
     */
    readonly claim: (claim: Claim) => Effect.Effect<string | undefined, KeyReused | StillInFlight>
    /**
     * Keeps the answer for a day, unless its request has lost the key to another one; tells whether
     * it did. `CreditLedger.settle` does so along with the charge.
     */
    readonly keep: (receipt: Receipt) => Effect.Effect<boolean>
    /** Gives the key up: the request came to nothing. */
    readonly release: (claim: Claim) => Effect.Effect<void>
    /** Forgets what is over; tells how many there were. */
    readonly expire: Effect.Effect<number>
  }
>() {}

/** How long an answer can be collected. */
export const retentionMs = 24 * 60 * 60 * 1000
