/** A row of the console's results: a row of the user's list, and its outcome. */
import type { Failure, Outcome, Success } from "../client/PromiseClient.ts"
import type { Item } from "../lists/UrlList.ts"

/** A row without an outcome still waits to be checked. */
export interface Row extends Item {
  /** The position in the list, from 1. */
  readonly place: number
  readonly outcome?: Outcome
  /** The figures of the outcome, if it has any. */
  readonly figures?: Success
  /** Why the outcome has no figures. */
  readonly reason?: Reason
  /** The place of the first row with the same target, when that is another row. */
  readonly sameAs?: number
}

export type Reason = Failure["reason"]

export const make = (
  item: Item,
  place: number,
  outcome: Outcome | undefined,
  sameAs?: number,
): Row => ({
  ...item,
  place,
  ...(outcome !== undefined && {
    outcome,
    ...("reason" in outcome ? { reason: outcome.reason } : { figures: outcome }),
  }),
  ...(sameAs !== undefined && { sameAs }),
})

export const isWaiting = ({ outcome }: Row) => outcome === undefined

/** True when a retry may succeed. */
export const isWorthRetrying = ({ reason }: Row) =>
  reason === "PROVIDER_ERROR" || reason === "SERVER_ERROR"
