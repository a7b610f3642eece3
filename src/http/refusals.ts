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

/** The headers that the answer to a refusal has of its own. */
export const headersOf = ({ _tag }: Refusal): Readonly<Record<string, string>> =>
  _tag === "IdempotencyKeyInUse" ? retryAfter : none

const retryAfter = { "retry-after": String(Conflict.retryAfter) }
const none = {}
