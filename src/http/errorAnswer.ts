/** The answers to errors: their status, their headers, and the body that every error has. */
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import type { Batch } from "../check/Batch.ts"
import * as Envelope from "../contract/Envelope.ts"
import type { Refusal } from "../ledger/Books.ts"
import { inTime, type StoreTimeout } from "../ledger/StoreTimeout.ts"

/** Makes the answer to an error that the contract does not declare. */
export const failure = (status: number, message: string) =>
  HttpServerResponse.unsafeJson(Envelope.errorBody(message), { status })

/** Fails with an error of the contract, and adds headers to the answer. */
export const refuse = <E extends { readonly _tag: string }>(
  error: E,
  headers = headersOf(error),
): Effect.Effect<never, E> =>
  Effect.zipRight(
    HttpApp.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeaders(response, headers)),
    ),
    Effect.fail(error),
  )

/** Fails with the 503 of a database that did not answer in time. */
export const refuseUnavailable = () =>
  refuse(new Envelope.ServiceUnavailable({ message: Envelope.unavailableMessage }))

/** Reads a store. Fails with the 503 at the deadline of the request. */
export const reading = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.catchTag(inTime(read), "StoreTimeout", refuseUnavailable)

/** The headers that an error of the contract adds to the answer. */
export const headersOf = (error: { readonly _tag: string }): Readonly<Record<string, string>> => {
  const { _tag } = error
  if (error instanceof Envelope.PaymentRequired) {
    return {
      ...(error.limit !== undefined && { "x-limit": error.limit }),
      ...(error.isTemporary === true && retryLater),
    }
  }
  return _tag === "Conflict" || _tag === "ServiceUnavailable" || _tag === "TooManyRequests"
    ? retryLater
    : {}
}

const retryLater = { "retry-after": String(Envelope.retryAfterSeconds) }

/** Maps a refusal or a timeout of the ledger to the contract's error. */
export const errorOf = (
  refusal: Refusal | StoreTimeout,
  batch: Pick<Batch, "idempotencyKey" | "requestId">,
) => {
  const { message } = refusal
  switch (refusal._tag) {
    case "InsufficientCredits":
      return new Envelope.PaymentRequired({ message, limit: "balance" })
    case "BudgetExceeded":
      return new Envelope.PaymentRequired({
        message,
        limit: "budget",
        isTemporary: refusal.isHeld,
      })
    case "LimitExceeded":
      return new Envelope.PaymentRequired({ message })
    case "IdempotencyKeyReused":
      return new Envelope.UnprocessableContent({ message })
    case "IdempotencyKeyInUse":
      return new Envelope.Conflict({ message })
    case "StoreTimeout":
      return timeoutOf(refusal, batch)
  }
}

const timeoutOf = (
  { mayCharge }: StoreTimeout,
  { idempotencyKey, requestId }: Pick<Batch, "idempotencyKey" | "requestId">,
) => {
  if (!mayCharge) return new Envelope.ServiceUnavailable({ message: Envelope.unavailableMessage })
  return idempotencyKey === undefined
    ? new Envelope.InternalServerError({ message: Envelope.undecidedChargeMessage(requestId) })
    : new Envelope.ServiceUnavailable({ message: Envelope.undecidedMessage })
}
