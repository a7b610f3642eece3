import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import {
  Conflict,
  InternalServerError,
  PaymentRequired,
  retryAfterSeconds,
  ServiceUnavailable,
  unavailableMessage,
  undecidedChargeMessage,
  undecidedMessage,
  UnprocessableContent,
} from "../contract/Envelope.ts"
import type { Refusal } from "../ledger/Books.ts"
import type { Batch } from "../Batch.ts"
import type { StoreTimeout } from "../StoreTimeout.ts"

/** Maps a refusal or a timeout of the ledger to the contract's error. */
export const errorOf = (
  refusal: Refusal | StoreTimeout,
  batch: Pick<Batch, "idempotencyKey" | "requestId">,
) => {
  const { message } = refusal
  switch (refusal._tag) {
    case "InsufficientCredits":
      return new PaymentRequired({ message })
    case "IdempotencyKeyReused":
      return new UnprocessableContent({ message })
    case "IdempotencyKeyInUse":
      return new Conflict({ message })
    case "StoreTimeout":
      return timeoutOf(refusal, batch)
  }
}

const timeoutOf = (
  { mayCharge }: StoreTimeout,
  { idempotencyKey, requestId }: Pick<Batch, "idempotencyKey" | "requestId">,
) => {
  if (!mayCharge) return new ServiceUnavailable({ message: unavailableMessage })
  return idempotencyKey === undefined
    ? new InternalServerError({ message: undecidedChargeMessage(requestId) })
    : new ServiceUnavailable({ message: undecidedMessage })
}

/** The headers that an error adds to the answer. */
export const headersOf = ({ _tag }: { readonly _tag: string }): Readonly<Record<string, string>> =>
  _tag === "Conflict" || _tag === "ServiceUnavailable" ? retryLater : none

const none = {}

const retryLater = { "retry-after": String(retryAfterSeconds) }

/** Fails with the error and adds the headers to the answer. */
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
