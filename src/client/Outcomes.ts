/** The outcomes of a batch and the entries of a preview, in the order of the URLs. */
import { maxUrlLength } from "../contract/Limits.ts"
import type {
  BatchAnswer,
  Failure,
  PreviewAnswer,
  PreviewEntry,
  Success,
} from "../contract/Wire.ts"
import { UnexpectedAnswer } from "./ClientError.ts"

export type { Failure, PreviewEntry, Success } from "../contract/Wire.ts"

/** The outcome of one URL. `"reason" in outcome` is true for a `Failure`. */
export type Outcome = Success | Failure

export interface CheckResult {
  /** One outcome per URL, in the order of the URLs. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: number
  /** The id of the request in the service's log and in the account's statement. */
  readonly requestId: string | undefined
  /** True for a replay: the service returned its stored answer and charged nothing more. */
  readonly isReplay: boolean
}

/**
 * True for a URL that the service accepts in a batch. One URL that is empty or too long would make
 * the whole batch fail with 400.
 */
export const isAdmissible = (url: string) => url.length > 0 && url.length <= maxUrlLength

export const problemOf = (url: string) => (url === "" ? "it is empty" : "it is too long")

/** The result of a batch without an admissible URL, for which nothing is sent. */
export const unsent = (urls: ReadonlyArray<string>, provenance = false): CheckResult => ({
  outcomes: urls.map((url) => invalid(url, problemOf(url), provenance)),
  creditsUsed: 0,
  requestId: undefined,
  isReplay: false,
})

/**
 * Reads the answer to the admissible URLs of a batch. Throws an UnexpectedAnswer when one of them
 * is missing from the answer.
 */
export const resultOf = (
  urls: ReadonlyArray<string>,
  { data, quota }: BatchAnswer,
  { body, headers, status }: Pick<Response, "headers" | "status"> & { readonly body: unknown },
  provenance = false,
): CheckResult => {
  const requestId = headers.get("x-request-id") ?? undefined
  // Both lists of the answer are in the order of the request.
  const answered = [[...data.successUrls], [...data.failedUrls]]
  const outcomes = urls.map((url): Outcome => {
    if (!isAdmissible(url)) return invalid(url, problemOf(url), provenance)
    const outcome = answered.find(([first]) => first?.url === url)?.shift()
    if (outcome !== undefined) return outcome
    const message =
      "The answer does not contain all of the URLs. Check that the base URL is the address of the service."
    throw new UnexpectedAnswer({ message, status, requestId, answer: body })
  })
  const isReplay = headers.get("idempotent-replayed") === "true"
  return { outcomes, creditsUsed: quota.creditsUsed, requestId, isReplay }
}

/** The outcome of a URL that is not sent. If `provenance` is true, it has a cause and a detail. */
export const invalid = (url: string, problem: string, provenance: boolean): Failure => ({
  url,
  reason: "INVALID_URL",
  ...(provenance && { cause: "invalid", detail: `${problem}.` }),
})

export interface Preview {
  /** One entry per URL, in the order of the URLs. */
  readonly entries: ReadonlyArray<PreviewEntry>
  readonly summary: PreviewAnswer["data"]["summary"]
  /** The price when every valid URL is checked successfully. */
  readonly maxCredits: number
  /** What the account can still spend; the budget of the API key may allow less. */
  readonly availableCredits: number
  /** True when the available credits and the budget of the API key cover `maxCredits`. */
  readonly affordable: boolean
}

/** The URLs to send. One invalid URL replaces all that would make the service refuse the batch. */
export const sentFor = (urls: ReadonlyArray<string>) =>
  urls.map((url) => (isAdmissible(url) ? url : "invalid"))

export const previewOf = (
  urls: ReadonlyArray<string>,
  { data: { entries, summary }, quota }: PreviewAnswer,
): Preview => ({
  entries: entries.map((entry, i) => {
    const url = urls[i]
    return url === undefined || isAdmissible(url)
      ? entry
      : { url, valid: false, problem: problemOf(url) }
  }),
  summary,
  ...quota,
})
