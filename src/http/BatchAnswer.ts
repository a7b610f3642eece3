/**
 * Encodes the answer to a batch as JSON by hand, which is faster than the schema's encoder. A
 * property test checks that this module and the schema's encoder give the same JSON.
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { Report } from "../Report.ts"
import type { BatchResponse } from "../contract/Api.ts"
import { Lru } from "../cache/Lru.ts"
import { type Metrics, metricsOf } from "../Metrics.ts"

export interface Json {
  readonly body: string
  /** True when each character of the body is one byte in UTF-8. */
  readonly isAscii: boolean
}

/** The header that marks a replay. */
export const replayed = { "idempotent-replayed": "true" }

/** Encodes a report as an `HttpServerResponse`, the response type of `@effect/platform`. */
export const response = (report: Report): HttpServerResponse.HttpServerResponse => {
  const answer = json(report)
  return HttpServerResponse.raw(answer.body, {
    headers: {
      "content-type": "application/json",
      "content-length": String(byteLength(answer)),
      ...(report.isReplay && replayed),
    },
  })
}

/** The `content-length` of a body. */
export const byteLength = ({ body, isAscii }: Json): number =>
  isAscii ? body.length : Buffer.byteLength(body)

/**
 * Encodes a report without validation: the types match the schema, and `Report` has removed figures
 * outside 0 to 100.
 */
export const json = ({
  creditsUsed,
  outcomes,
  urls,
}: Pick<Report, "urls" | "outcomes" | "creditsUsed">): Json => {
  let [successUrls, failedUrls, isAscii] = ["", "", true]
  outcomes.forEach((outcome, i) => {
    const url = urls[i] ?? ""
    if (outcome._tag === "Failed") {
      const failure = jsonOf<Failure>({ url, reason: outcome.reason })
      failedUrls = joined(failedUrls, failure)
      isAscii &&= failure.isAscii
    } else {
      const success = successOf(url, outcome.metrics)
      successUrls = joined(successUrls, success)
      isAscii &&= success.isAscii
    }
  })
  const body =
    `{"success":true,"data":{"successUrls":[${successUrls}],"failedUrls":[${failedUrls}]},` +
    `"quota":{"creditsUsed":${creditsUsed}}}`
  return { body, isAscii }
}

const jsonOf = <A>(value: A): Json => {
  const body = JSON.stringify(value)
  return { body, isAscii: Buffer.byteLength(body) === body.length }
}

const joined = (before: string, { body }: Json) => (before === "" ? body : `${before},${body}`)

const successOf = (url: string, metrics: Metrics): Json => {
  const kept = pieces.get(url)
  if (kept !== undefined && isEqual(kept.metrics, metrics)) return kept
  const { domainAuthority, pageAuthority, spamScore } = metrics
  const success = jsonOf<Success>({
    url,
    ...metricsOf(domainAuthority, pageAuthority, spamScore),
  })
  if (url.length <= maxCachedUrlLength) pieces.set(url, { metrics, ...success })
  return success
}

const isEqual = (one: Metrics, other: Metrics) =>
  one === other ||
  (one.domainAuthority === other.domainAuthority &&
    one.pageAuthority === other.pageAuthority &&
    one.spamScore === other.spamScore)

/**
 * Caches the JSON of successfully checked URLs and their figures. Popular URLs recur in many
 * batches, and stringifying the 50 URLs of a large batch is slow.
 */
const pieces = new Lru<string, Json & { readonly metrics: Metrics }>(10_000)

/**
 * Maximum length of a URL whose JSON is cached, in UTF-16 code units. A full cache of 10,000 URLs of
 * this length takes about 6 MB, or 18 MB when JSON escapes most characters.
 */
const maxCachedUrlLength = 200

type Success = (typeof BatchResponse.Encoded)["data"]["successUrls"][number]
type Failure = (typeof BatchResponse.Encoded)["data"]["failedUrls"][number]
