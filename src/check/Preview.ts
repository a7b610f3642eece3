/** Pure rules for a preview: what a batch would do and cost if it were checked. */
import * as Either from "effect/Either"
import type { UrlList } from "./Batch.ts"
import { type Credits, creditsOf } from "../ledger/Credits.ts"
import type { Prospect } from "../providers/MetricsProvider.ts"

/** What would happen to one submitted URL. */
export type Entry =
  | {
      readonly url: string
      readonly valid: true
      readonly target: string
      /** The index of the first URL with the same target; null for that first URL. */
      readonly duplicateOf: number | null
      /** True when a check of the URL would ask no vendor. */
      readonly known: boolean
    }
  | { readonly url: string; readonly valid: false; readonly problem: string }

/** `known + toBuy` equals `valid - duplicates`. */
export interface Summary {
  readonly total: number
  readonly valid: number
  readonly invalid: number
  readonly duplicates: number
  readonly known: number
  readonly toBuy: number
}

export interface Preview {
  readonly entries: ReadonlyArray<Entry>
  readonly summary: Summary
  /** The price if every valid URL is checked successfully. */
  readonly maxCredits: Credits
}

/** Takes one prospect for each target. Targets that would fail without a call count as known. */
export const make = (
  { parsed, urls }: UrlList,
  prospects: ReadonlyArray<Prospect>,
  price: Credits,
): Preview => {
  const firsts = new Map<string, number>()
  let next = 0
  const entries = parsed.map((target, i): Entry => {
    const url = urls[i] ?? ""
    if (Either.isLeft(target)) return { url, valid: false, problem: target.left.problem }
    const { page } = target.right
    const duplicateOf = firsts.get(page) ?? null
    if (duplicateOf === null) firsts.set(page, i)
    const known = prospects[next++] !== "asked"
    return { url, valid: true, target: page, duplicateOf, known }
  })
  const distinct = entries.filter((entry) => entry.valid && entry.duplicateOf === null)
  const knownOnes = distinct.filter((entry) => entry.valid && entry.known).length
  return {
    entries,
    summary: {
      total: entries.length,
      valid: next,
      invalid: entries.length - next,
      duplicates: next - distinct.length,
      known: knownOnes,
      toBuy: distinct.length - knownOnes,
    },
    maxCredits: creditsOf(price * next),
  }
}
