/** The answer to a batch as it goes out. */
import type { Report } from "../AuthorityCheck.ts"
import { Lru } from "../Lru.ts"
import type { Metrics } from "../Metrics.ts"
import type { Answer } from "./Answer.ts"
import type { BatchResponse } from "./Api.ts"

/** Its types say that it fits the schema, and the use case lets no figure off the scale through. */
export const json = ({ creditsUsed, outcomes, urls }: Told): Json => {
  let [successUrls, failedUrls, isAscii] = ["", "", true]
  outcomes.forEach((outcome, i) => {
    const url = urls[i] ?? ""
    if (outcome._tag === "Failed") {
      const failure = jsonOf<Failure>({ url, reason: outcome.reason })
      failedUrls = listed(failedUrls, failure)
      isAscii &&= failure.isAscii
    } else {
      const success = successOf(url, outcome.metrics)
      successUrls = listed(successUrls, success)
      isAscii &&= success.isAscii
    }
  })
  const body =
    `{"success":true,"data":{"successUrls":[${successUrls}],"failedUrls":[${failedUrls}]},` +
    `"quota":{"creditsUsed":${creditsUsed}}}`
  return { body, isAscii }
}

/** That it is plain ASCII is seen once of each piece, for to look through a long answer takes a while. */
type Json = Required<Pick<Answer, "body" | "isAscii">>

const jsonOf = <A>(value: A): Json => {
  const body = JSON.stringify(value)
  return { body, isAscii: Buffer.byteLength(body) === body.length }
}

const listed = (before: string, { body }: Json) => (before === "" ? body : `${before},${body}`)

const successOf = (url: string, metrics: Metrics): Json => {
  const before = said.get(url)
  // Figures are never changed, but replaced.
  if (before?.metrics === metrics) return before
  const { domainAuthority, pageAuthority, spamScore } = metrics
  const success = jsonOf<Success>(
    spamScore === undefined
      ? { url, domainAuthority, pageAuthority }
      : { url, domainAuthority, pageAuthority, spamScore },
  )
  if (url.length <= maxSaidLength) said.set(url, { metrics, ...success })
  return success
}

/**
 * What was said lately of a URL. To write fifty of these takes as long as all else that a request
 * does for itself, and popular addresses come again and again.
 */
const said = new Lru<string, Json & { readonly metrics: Metrics }>(10_000)

/** With as many of these, some 6 MB; of characters that JSON must escape, three times that. */
const maxSaidLength = 200

/** What of a report a client is told. */
export type Told = Pick<Report, "urls" | "outcomes" | "creditsUsed">

type Success = (typeof BatchResponse.Encoded)["data"]["successUrls"][number]
type Failure = (typeof BatchResponse.Encoded)["data"]["failedUrls"][number]
