/** Counts the outcomes of a bulk check. */
import type { Outcome } from "../client/Outcomes.ts"
import type { FailureReason } from "../Metrics.ts"
import { counted } from "../text/counted.ts"

export interface Summary {
  /** True when every URL has an outcome. */
  readonly complete: boolean
  readonly urls: number
  readonly succeeded: number
  /** The number of failed URLs for each reason. A reason that did not occur is absent. */
  readonly failed: Readonly<Partial<Record<FailureReason, number>>>
  /** What the account paid for this list, in all starts since the last `--again`. */
  readonly creditsUsed: number
  readonly left: number
}

export interface CheckTally {
  /** Adds a URL. `outcome` is undefined when the URL has none. */
  readonly add: (outcome: Outcome | undefined) => void
  readonly summary: (creditsUsed: number) => Summary
}

export const make = (): CheckTally => {
  const failed: Partial<Record<FailureReason, number>> = {}
  let [urls, succeeded, left] = [0, 0, 0]
  return {
    add: (outcome) => {
      urls++
      if (outcome === undefined) left++
      else if ("reason" in outcome) failed[outcome.reason] = (failed[outcome.reason] ?? 0) + 1
      else succeeded++
    },
    summary: (creditsUsed) => ({
      complete: left === 0,
      urls,
      succeeded,
      failed,
      creditsUsed,
      left,
    }),
  }
}

export const describe = (summary: Summary): string => {
  const { creditsUsed, failed, left, succeeded, urls } = summary
  const reasons = Object.entries(failed).map(([reason, n]) => `${count(n)} ${reason}`)
  const failures = Object.values(failed).reduce((sum, n) => sum + n, 0)
  const parts = [
    `${have(succeeded)} figures`,
    `${have(failures)} none${reasons.length === 0 ? "" : ` (${reasons.join(", ")})`}`,
    ...(left === 0 ? [] : [`${count(left)} ${left === 1 ? "is" : "are"} left`]),
  ]
  const text = `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`
  return `Of ${counted(urls, "URL")}, ${text}; ${counted(creditsUsed, "credit")} used.`
}

const have = (n: number) => `${count(n)} ${n === 1 ? "has" : "have"}`

const count = (n: number) => n.toLocaleString("en")
