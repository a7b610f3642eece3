/** Counts the outcomes of a bulk check. */
import { counted } from "../text/counted.ts"
import type { JournaledAnswer } from "./CheckJournal.ts"
import type { FailureReason } from "../Metrics.ts"

export interface Summary {
  /** True when every URL has an outcome. */
  readonly complete: boolean
  readonly urls: number
  readonly succeeded: number
  /** The number of failed URLs for each reason. A reason that did not occur is absent. */
  readonly failed: Readonly<Partial<Record<FailureReason, number>>>
  readonly creditsUsed: number
  readonly left: number
}

export interface CheckTally {
  /** Adds a batch. `answer` is undefined when the batch has no answer. */
  readonly add: (urls: ReadonlyArray<string>, answer: JournaledAnswer | undefined) => void
  readonly summary: () => Summary
  readonly batches: () => number
}

export const make = (): CheckTally => {
  const failed: Partial<Record<FailureReason, number>> = {}
  let [urls, succeeded, creditsUsed, left, batches] = [0, 0, 0, 0, 0]
  return {
    add: ({ length }, answer) => {
      batches++
      urls += length
      if (answer === undefined) left += length
      creditsUsed += answer?.creditsUsed ?? 0
      for (const result of answer?.results ?? []) {
        if ("reason" in result) failed[result.reason] = (failed[result.reason] ?? 0) + 1
        else succeeded++
      }
    },
    summary: () => ({ complete: left === 0, urls, succeeded, failed, creditsUsed, left }),
    batches: () => batches,
  }
}

export const failures = ({ failed }: Summary) =>
  Object.values(failed).reduce((sum, count) => sum + count, 0)

export const describe = (summary: Summary): string => {
  const { creditsUsed, failed, left, succeeded, urls } = summary
  const reasons = Object.entries(failed).map(([reason, n]) => `${count(n)} ${reason}`)
  const parts = [
    `${have(succeeded)} figures`,
    `${have(failures(summary))} none${reasons.length === 0 ? "" : ` (${reasons.join(", ")})`}`,
    ...(left === 0 ? [] : [`${count(left)} ${left === 1 ? "is" : "are"} left`]),
  ]
  const text = `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`
  return `Of ${counted(urls, "URL")}, ${text}; ${counted(creditsUsed, "credit")} used.`
}

const have = (n: number) => `${count(n)} ${n === 1 ? "has" : "have"}`

const count = (n: number) => n.toLocaleString("en")
