/** A row of the console's results: a URL of the user's list, and its result. */
import type { FailureReason, Metrics } from "../Metrics.ts"
import type { Outcome } from "../client/PromiseClient.ts"
import type { Item } from "./UrlList.ts"

/**
 * A URL of the user's list. A row with neither figures nor a reason for their absence still waits to
 * be checked.
 */
export interface Row {
  /** The position in the list, from 1. */
  readonly place: number
  readonly url: string
  readonly lines?: Item["lines"]
  figures?: Metrics
  reason?: Reason
}

/**
 * Why a URL has no figures: a reason of the API, or TOO_LONG for a URL that the console does not
 * send.
 */
export type Reason = FailureReason | "TOO_LONG"

export const isWaiting = ({ figures, reason }: Row) => figures === undefined && reason === undefined

/** True when a retry may succeed. */
export const isWorthRetrying = ({ reason }: Row) =>
  reason === "PROVIDER_ERROR" || reason === "SERVER_ERROR"

/** Writes the outcomes of a batch into its rows, which have the same order. */
export const fill = (rows: ReadonlyArray<Row>, outcomes: ReadonlyArray<Outcome>) =>
  outcomes.forEach((outcome, index) => {
    const row = rows[index]
    if (row === undefined) return
    if ("reason" in outcome) {
      row.reason = outcome.reason
    } else {
      const { url: _, ...figures } = outcome
      row.figures = figures
    }
  })
