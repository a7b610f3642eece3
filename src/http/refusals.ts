import { Conflict, PaymentRequired, UnprocessableContent } from "../contract/Envelope.ts"
import type { Refusal } from "../ledger/Books.ts"

/** The contract's error for a request that the ledger does not admit. */
export const errorOf = (refusal: Refusal): PaymentRequired | UnprocessableContent | Conflict => {
  const { message } = refusal
  switch (refusal._tag) {
    case "InsufficientCredits":
      return new PaymentRequired({ message })
    case "IdempotencyKeyReused":
      return new UnprocessableContent({ message })
    case "IdempotencyKeyInUse":
      return new Conflict({ message })
  }
}
