/** What became of a list, as numbers for programs and as a sentence. */
import type { Failure } from "../contract/Wire.ts"
import { counted } from "../contract/counted.ts"
import type { Run } from "./Run.ts"
import type { Item } from "./UrlList.ts"

export interface Summary {
  readonly complete: boolean
  readonly urls: number
  readonly succeeded: number
  /** The number of failed URLs by reason, without the reasons that did not occur. */
  readonly failed: Readonly<Partial<Record<Failure["reason"], number>>>
  /** What the account paid for this list during this run. */
  readonly creditsUsed: number
  readonly left: number
}

/** Counts the outcomes that a run has for a list. */
export const of = (
  items: ReadonlyArray<Item>,
  run: Pick<Run, "creditsUsed" | "outcomeOf">,
): Summary => {
  const failed: Partial<Record<Failure["reason"], number>> = {}
  let [succeeded, left] = [0, 0]
  for (const { url } of items) {
    const outcome = run.outcomeOf(url)
    if (outcome === undefined) left++
    else if ("reason" in outcome) failed[outcome.reason] = (failed[outcome.reason] ?? 0) + 1
    else succeeded++
  }
  const { creditsUsed } = run
  return { complete: left === 0, urls: items.length, succeeded, failed, creditsUsed, left }
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
