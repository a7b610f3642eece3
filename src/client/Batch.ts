/** Selects the URLs that the contract accepts, and puts the outcomes in the order of the URLs. */
import type { BatchRequest, BatchResponse } from "../contract/Api.ts"
import { maxUrlLength } from "../contract/Limits.ts"
import type { FailureReason, Metrics } from "../Metrics.ts"

/** The figures of one URL. */
export interface Success extends Metrics {
  readonly url: string
}

/** The reason why a URL has no figures. */
export interface Failure {
  readonly url: string
  readonly reason: FailureReason
}

/** The outcome of one URL. `"reason" in outcome` is true for a `Failure`. */
export type Outcome = Success | Failure

/** True when the contract accepts the URL's length. Any other URL makes the whole batch a 400. */
export const isAdmissible = (url: string) => url.length > 0 && url.length <= maxUrlLength

/** Completes the `outcomes` of the admissible URLs with INVALID_URL for each other URL. */
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

/** Returns one outcome per URL, in the order of the URLs; undefined when the answer omits a URL. */
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
