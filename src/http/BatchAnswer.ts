/**
 * Encodes the answer to a batch as JSON by hand, which is faster than the schema's encoder. A
 * property test checks that this module and the schema's encoder give the same JSON.
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { Report } from "../Report.ts"
import type { BatchResponse } from "../contract/Api.ts"
import { Lru } from "../cache/Lru.ts"
import { type Metrics, metricsOf } from "../Metrics.ts"

/** Encodes a report as the headers and the body of an answer. */
export const of = (report: Report) => {
  const body = json(report)
  const headers = {
    ...(report.isReplay && { "idempotent-replayed": "true" }),
    ...(report.sources && { "preference-applied": "provenance", vary: "Prefer" }),
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  }
  return { headers, body }
}

/** Encodes a report as an `HttpServerResponse`, the response type of `@effect/platform`. */
export const response = (report: Report): HttpServerResponse.HttpServerResponse => {
  const { body, headers } = of(report)
  return HttpServerResponse.raw(body, { headers })
}

/**
 * Encodes a report without validation: the types match the schema, and `Report` has removed figures
 * outside 0 to 100.
 */
export const json = ({
  creditsUsed,
  outcomes,
  sources,
  urls,
}: Pick<Report, "urls" | "outcomes" | "creditsUsed" | "sources">): string => {
  let [successUrls, failedUrls] = ["", ""]
  outcomes.forEach((outcome, i) => {
    const url = urls[i] ?? ""
    const source = sources?.[i]
    if (outcome._tag === "Failed") {
      const explanation = source !== undefined && "cause" in source ? source : {}
      const failure: Failure = { url, reason: outcome.reason, ...explanation }
      failedUrls = joined(failedUrls, JSON.stringify(failure))
    } else if (source !== undefined && "provider" in source) {
      const success: Success = { ...figuresOf(url, outcome.metrics), provenance: source }
      successUrls = joined(successUrls, JSON.stringify(success))
    } else successUrls = joined(successUrls, successOf(url, outcome.metrics))
  })
  return (
    `{"success":true,"data":{"successUrls":[${successUrls}],"failedUrls":[${failedUrls}]},` +
    `"quota":{"creditsUsed":${creditsUsed}}}`
  )
}

// Concatenation is faster here than joining an array.
const joined = (before: string, item: string) => (before === "" ? item : `${before},${item}`)

const successOf = (url: string, metrics: Metrics): string => {
  const kept = pieces.get(url)
  if (kept !== undefined && isEqual(kept.metrics, metrics)) return kept.json
  const json = JSON.stringify(figuresOf(url, metrics))
  if (url.length <= maxCachedUrlLength) pieces.set(url, { metrics, json })
  return json
}

const figuresOf = (
  url: string,
  { domainAuthority, pageAuthority, spamScore }: Metrics,
): Success => ({ url, ...metricsOf(domainAuthority, pageAuthority, spamScore) })

const isEqual = (one: Metrics, other: Metrics) =>
  one === other ||
  (one.domainAuthority === other.domainAuthority &&
    one.pageAuthority === other.pageAuthority &&
    one.spamScore === other.spamScore)

// Caches the JSON of successfully checked URLs and their figures. Popular URLs recur in many
// batches, and stringifying the 50 URLs of a large batch is slow.
const pieces = new Lru<{ readonly metrics: Metrics; readonly json: string }>(10_000)

// Maximum length of a URL whose JSON is cached, in UTF-16 code units. A full cache of 10,000 URLs
// of this length takes about 6 MB, or 18 MB when JSON escapes most characters.
const maxCachedUrlLength = 200

type Success = (typeof BatchResponse.Encoded)["data"]["successUrls"][number]
type Failure = (typeof BatchResponse.Encoded)["data"]["failedUrls"][number]
