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

interface ContractError {
  readonly headers: Readonly<Record<string, string>>
}

/** Makes the answer to an error of the contract, where the framework does not make it. */
export const answerTo = ({
  headers,
  message,
  status,
}: ContractError & { readonly message: string; readonly status: number }) =>
  HttpServerResponse.setHeaders(failure(status, message), headers)

/** Fails with an error of the contract, and adds the error's headers to the answer. */
export const refuse = <E extends ContractError>(error: E): Effect.Effect<never, E> =>
  Effect.zipRight(
    HttpApp.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeaders(response, error.headers)),
    ),
    Effect.fail(error),
  )

export const unavailable = () =>
  new Envelope.ServiceUnavailable({ message: Envelope.unavailableMessage })

export const refuseUnavailable = () => refuse(unavailable())

/** Reads a store. Fails with the 503 at the deadline of the request. */
export const reading = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.catchTag(inTime(read), "StoreTimeout", refuseUnavailable)

/** Turns a refusal or a timeout of the ledger into an error of the contract. */
export const errorOf = (
  refusal: Refusal | StoreTimeout,
  batch: Pick<Batch, "idempotencyKey" | "requestId">,
) => {
  const { message } = refusal
  switch (refusal._tag) {
    case "InsufficientCredits":
      return new Envelope.PaymentRequired({ message, headers: { "x-limit": "balance" } })
    case "BudgetExceeded":
      return new Envelope.PaymentRequired({
        message,
        headers: { "x-limit": "budget", ...(refusal.isHeld && Envelope.retryLater) },
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
  if (!mayCharge) return unavailable()
  return idempotencyKey === undefined
    ? new Envelope.InternalServerError({ message: Envelope.undecidedChargeMessage(requestId) })
    : new Envelope.ServiceUnavailable({ message: Envelope.undecidedMessage })
}
