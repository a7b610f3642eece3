/** What a batch would do and cost. */
import type { PreviewAnswer, PreviewEntry } from "../contract/Wire.ts"
import { isAdmissible, problemOf } from "./Outcomes.ts"

export type { PreviewEntry } from "../contract/Wire.ts"

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

/** Puts the answer to the admissible URLs together with the others. */
export const previewOf = (
  urls: ReadonlyArray<string>,
  { data: { entries, summary }, quota }: PreviewAnswer,
): Preview => {
  const places = urls.flatMap((url, i) => (isAdmissible(url) ? [i] : []))
  const placed = new Map(entries.map((entry, i) => [places[i], atPlace(entry, places)]))
  const unsent = urls.length - places.length
  return {
    entries: urls.map((url, i) => placed.get(i) ?? inadmissible(url)),
    summary: { ...summary, total: urls.length, invalid: summary.invalid + unsent },
    ...quota,
  }
}

const atPlace = (entry: PreviewEntry, places: ReadonlyArray<number>): PreviewEntry =>
  entry.valid && entry.duplicateOf !== null
    ? { ...entry, duplicateOf: places[entry.duplicateOf] ?? null }
    : entry

const inadmissible = (url: string): PreviewEntry => ({
  url,
  valid: false,
  problem: problemOf(url),
})

/** The answer to no URL, so that nothing is sent. */
export const emptyAnswer = (availableCredits: number): PreviewAnswer => ({
  success: true,
  data: {
    entries: [],
    summary: { total: 0, valid: 0, invalid: 0, duplicates: 0, known: 0, toBuy: 0 },
  },
  quota: { maxCredits: 0, availableCredits, affordable: true },
})
