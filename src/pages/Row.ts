/** A row of the console's results: a URL of the user's list, and its result. */
import type { FailureReason, Metrics } from "../Metrics.ts"
import type { Batch } from "./ApiClient.ts"
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

/**
 * Writes the answer of a batch into the rows of the batch. `successUrls` and `failedUrls` each keep
 * the order of the rows. A row without a result gets SERVER_ERROR.
 */
export const fill = (rows: ReadonlyArray<Row>, { failedUrls, successUrls }: Batch["data"]) => {
  const successes = successUrls.values()
  const failures = failedUrls.values()
  let success = successes.next().value
  let failure = failures.next().value
  for (const row of rows) {
    if (success?.url === row.url) {
      const { url: _, ...figures } = success
      row.figures = figures
      success = successes.next().value
    } else {
      row.reason = failure?.url === row.url ? failure.reason : "SERVER_ERROR"
      failure = failures.next().value
    }
  }
}
