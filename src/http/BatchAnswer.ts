/**
 * The answer to a batch: as it goes out, and as it is kept for a client that asks again. Whoever asks
 * again sends the URLs again, so they are not kept: with them an answer that cost nothing could take
 * up hundreds of kilobytes, and without them one takes a few at most.
 */
import * as Schema from "effect/Schema"
import type { Report } from "../AuthorityCheck.ts"
import { Credits } from "../LedgerEntry.ts"
import { FailureReason, Outcome, Score } from "../Metrics.ts"
import type { BatchResponse } from "./Api.ts"

/** Its types say that it fits the schema, and the use case lets no figure off the scale through. */
export const body = ({ creditsUsed, outcomes, urls }: Told): string => {
  const successUrls: Array<Success> = []
  const failedUrls: Array<Failure> = []
  outcomes.forEach((outcome, i) => {
    const url = urls[i] ?? ""
    if (outcome._tag === "Failed") {
      failedUrls.push({ url, reason: outcome.reason })
    } else {
      const { domainAuthority, pageAuthority, spamScore } = outcome.metrics
      successUrls.push(
        spamScore === undefined
          ? { url, domainAuthority, pageAuthority }
          : { url, domainAuthority, pageAuthority, spamScore },
      )
    }
  })
  const response: Response = {
    success: true,
    data: { successUrls, failedUrls },
    quota: { creditsUsed },
  }
  return JSON.stringify(response)
}

/** What there is to know beside the URLs. */
export const kept = ({ creditsUsed, outcomes }: Told): string => {
  const kept = outcomes.map((outcome): (typeof Kept.Encoded)["outcomes"][number] => {
    if (outcome._tag === "Failed") return outcome.reason
    const { domainAuthority, pageAuthority, spamScore } = outcome.metrics
    return spamScore === undefined
      ? [domainAuthority, pageAuthority]
      : [domainAuthority, pageAuthority, spamScore]
  })
  const record: typeof Kept.Encoded = { creditsUsed, outcomes: kept }
  return JSON.stringify(record)
}

/** What was told, for the URLs that it was told of. */
export const recalled = (urls: ReadonlyArray<string>, kept: string): Told => {
  const { creditsUsed, outcomes } = decodeKept(kept)
  return { creditsUsed, urls, outcomes: outcomes.map(outcomeOf) }
}

/** What of a report a client is told. */
export type Told = Pick<Report, "urls" | "outcomes" | "creditsUsed">

type Response = typeof BatchResponse.Encoded
type Success = Response["data"]["successUrls"][number]
type Failure = Response["data"]["failedUrls"][number]

const Kept = Schema.Struct({
  creditsUsed: Credits,
  outcomes: Schema.Array(
    Schema.Union(FailureReason, Schema.Tuple(Score, Score, Schema.optionalElement(Score))),
  ),
})
const decodeKept = Schema.decodeUnknownSync(Schema.parseJson(Kept))

const outcomeOf = (kept: (typeof Kept.Type)["outcomes"][number]): Outcome => {
  if (typeof kept === "string") return Outcome.Failed({ reason: kept, detail: "as it was kept" })
  const [domainAuthority, pageAuthority, spamScore] = kept
  const figures = { domainAuthority, pageAuthority }
  return Outcome.Checked({ metrics: spamScore === undefined ? figures : { ...figures, spamScore } })
}
