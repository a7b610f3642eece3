/** Compares what clients learned with the books. */
import type { StatementEntry } from "../ledger/LedgerEntry.ts"
import type { Outcome } from "./Traffic.ts"

/** Numbers of requests. */
export interface Tally {
  readonly requests: number
  readonly acknowledged: number
  /** Charged, but the client did not learn of it. That is allowed, once. */
  readonly unacknowledged: number
  /** Acknowledged, but charged less or not at all. */
  readonly lost: number
  /** Charged more than once, or more than its price. */
  readonly doubled: number
  /** Charges in the books that belong to no request. */
  readonly strange: number
}

export const tally = (
  outcomes: ReadonlyArray<Outcome>,
  entries: ReadonlyArray<StatementEntry>,
): Tally => {
  const charges = entries.filter(({ kind }) => kind === "charge")
  const byRequest = Map.groupBy(charges, ({ requestId }) => requestId)
  let [acknowledged, unacknowledged, lost, doubled, known] = [0, 0, 0, 0, 0]
  for (const { account, attempts, credits, isAcknowledged } of outcomes) {
    const own = attempts
      .flatMap((id) => byRequest.get(id) ?? [])
      .filter(({ accountId }) => accountId === account)
    const charged = own.reduce((sum, { amount }) => sum + amount, 0)
    known += own.length
    if (own.length > 1 || charged > credits) doubled++
    if (isAcknowledged) acknowledged++
    if (isAcknowledged && charged < credits) lost++
    if (!isAcknowledged && own.length > 0) unacknowledged++
  }
  const strange = charges.length - known
  return { requests: outcomes.length, acknowledged, unacknowledged, lost, doubled, strange }
}
