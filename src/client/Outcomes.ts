/** The outcomes of a batch, in the order of its URLs. */
import { maxUrlLength } from "../contract/Limits.ts"
import type { BatchAnswer, Failure, Success } from "../contract/Wire.ts"
import type { Answer } from "./Answer.ts"
import { UnexpectedAnswer } from "./ClientError.ts"

export type { Failure, Success } from "../contract/Wire.ts"

/** The outcome of one URL. `"reason" in outcome` is true for a `Failure`. */
export type Outcome = Success | Failure

/** The answer to a batch. */
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
 * Reads the answer to a batch. Returns an UnexpectedAnswer when a URL is missing from the answer.
 */
export const resultOf = (
  urls: ReadonlyArray<string>,
  { data, quota }: BatchAnswer,
  { header, status, body }: Answer,
): CheckResult | UnexpectedAnswer => {
  const requestId = header("x-request-id")
  const outcomes = inOrder(urls, [...data.successUrls, ...data.failedUrls])
  if (outcomes.length < urls.length) {
    const message =
      "The answer does not contain all of the URLs. Check that the base URL is the address of the service."
    return new UnexpectedAnswer({ message, status, requestId, answer: body })
  }
  const isReplay = header("idempotent-replayed") === "true"
  return { outcomes, creditsUsed: quota.creditsUsed, requestId, isReplay }
}

const inOrder = (urls: ReadonlyArray<string>, outcomes: ReadonlyArray<Outcome>) => {
  const byUrl = new Map<string, Array<Outcome>>()
  for (const outcome of outcomes) {
    const same = byUrl.get(outcome.url)
    if (same === undefined) byUrl.set(outcome.url, [outcome])
    else same.push(outcome)
  }
  return urls.flatMap((url) => byUrl.get(url)?.splice(0, 1) ?? [])
}

/**
 * Leaves out URLs that are empty or too long, because one such URL would make the whole batch fail
 * with 400. `complete` adds the missing outcomes, which have the reason INVALID_URL.
 */
export const lenient = (urls: ReadonlyArray<string>) => ({
  admissible: urls.filter(isAdmissible),
  complete: (result: CheckResult): CheckResult => {
    let next = 0
    const outcomes = urls.map(
      (url) =>
        (isAdmissible(url) ? result.outcomes[next++] : undefined) ?? {
          url,
          reason: "INVALID_URL" as const,
        },
    )
    return { ...result, outcomes }
  },
})

const isAdmissible = (url: string) =>
  typeof url === "string" && url.length > 0 && url.length <= maxUrlLength

/**
 * The result of a batch that is not sent to the service, because each of its URLs is empty or too
 * long. The function `complete`, which `lenient` returns, adds the outcomes of these URLs.
 */
export const unsent: CheckResult = {
  outcomes: [],
  creditsUsed: 0,
  requestId: undefined,
  isReplay: false,
}
