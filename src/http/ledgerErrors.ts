import {
  Conflict,
  InternalServerError,
  PaymentRequired,
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
