/** What a list of URLs becomes: batches that the contract takes, and outcomes in the list's order. */
import type { BatchRequest, BatchResponse } from "../contract/Api.ts"
import { maxUrlLength } from "../contract/Limits.ts"
import type { FailureReason, Metrics } from "../Metrics.ts"

/** The figures of one URL. */
export interface Success extends Metrics {
  readonly url: string
}

/** Why there are none. */
export interface Failure {
  readonly url: string
  readonly reason: FailureReason
}

/** `"reason" in outcome` tells which of the two it is. */
export type Outcome = Success | Failure

/** Whether the contract lets the URL into a batch at all; otherwise it spoils the whole batch. */
export const isAdmissible = (url: string) => url.length > 0 && url.length <= maxUrlLength

/** The outcomes of all the URLs, when those of the admissible ones are `outcomes`. */
export const withInadmissible = (
  urls: ReadonlyArray<string>,
  outcomes: ReadonlyArray<Outcome>,
): ReadonlyArray<Outcome> => {
  const given = outcomes.values()
  return urls.map((url) => {
    const outcome = isAdmissible(url) ? given.next().value : undefined
    return outcome ?? { url, reason: "INVALID_URL" }
  })
}

/** One for each URL, in their order; undefined when the answer leaves one out. */
export const inOrder = (
  { urls }: typeof BatchRequest.Type,
  { data }: typeof BatchResponse.Type,
): ReadonlyArray<Outcome> | undefined => {
  const byUrl = Map.groupBy<string, Outcome>(
    [...data.successUrls, ...data.failedUrls],
    ({ url }) => url,
  )
  const outcomes = urls.flatMap((url) => byUrl.get(url)?.splice(0, 1) ?? [])
  return outcomes.length === urls.length ? outcomes : undefined
}
