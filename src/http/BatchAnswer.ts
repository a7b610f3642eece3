/** Makes the body of the answer to a batch. */
import type { BatchResponse } from "../contract/Api.ts"
import { metricsOf } from "../check/Metrics.ts"
import type { Report } from "../check/Report.ts"

type Data = (typeof BatchResponse.Encoded)["data"]

/** Skips validation, because `Report` has removed figures outside 0 to 100. */
export const of = ({
  creditsUsed,
  outcomes,
  sources,
  urls,
}: Pick<Report, "urls" | "outcomes" | "creditsUsed" | "sources">): typeof BatchResponse.Encoded => {
  const successUrls: Array<Data["successUrls"][number]> = []
  const failedUrls: Array<Data["failedUrls"][number]> = []
  for (const [i, outcome] of outcomes.entries()) {
    const url = urls[i] ?? ""
    const source = sources?.[i]
    if (outcome._tag === "Failed") {
      const explanation = source !== undefined && "cause" in source ? source : {}
      failedUrls.push({ url, reason: outcome.reason, ...explanation })
    } else {
      const { domainAuthority, pageAuthority, spamScore } = outcome.metrics
      const provenance = source !== undefined && "provider" in source ? { provenance: source } : {}
      successUrls.push({
        url,
        ...metricsOf(domainAuthority, pageAuthority, spamScore),
        ...provenance,
      })
    }
  }
  return { success: true, data: { successUrls, failedUrls }, quota: { creditsUsed } }
}
