/** Makes the body of the answer to a preview. */
import type { PreviewResponse } from "../contract/Api.ts"
import type { Preview } from "../Preview.ts"

/** `spendable` is what the account, and the budget of its key, allow: never more than `available`. */
export const of = (
  { entries, maxCredits, summary }: Preview,
  availableCredits: number,
  spendable = availableCredits,
): typeof PreviewResponse.Encoded => ({
  success: true,
  data: { entries, summary },
  quota: { maxCredits, availableCredits, affordable: maxCredits <= spendable },
})
