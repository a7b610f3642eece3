/** What the check of a whole list would do and cost. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Client from "../client/EffectClient.ts"
import { counted } from "../text/counted.ts"

export interface ListPreview {
  readonly total: number
  readonly valid: number
  readonly invalid: number
  /** Valid URLs whose target an earlier URL of the list has. */
  readonly duplicates: number
  /** Distinct targets whose figures the service has. */
  readonly known: number
  readonly toBuy: number
  /** The price when every valid URL is checked successfully. */
  readonly maxCredits: number
  readonly availableCredits: number
}

const empty: ListPreview = {
  total: 0,
  valid: 0,
  invalid: 0,
  duplicates: 0,
  known: 0,
  toBuy: 0,
  maxCredits: 0,
  availableCredits: 0,
}

/** Previews the batches. Calls `onInvalid` for each URL that cannot be checked. */
export const of = <E, E2>(
  batches: Stream.Stream<ReadonlyArray<string>, E>,
  options: {
    readonly ask: (urls: ReadonlyArray<string>) => Effect.Effect<Client.Preview, E2>
    readonly concurrency: number
    readonly onInvalid: (url: string, problem: string) => void
  },
): Effect.Effect<ListPreview, E | E2> =>
  Effect.suspend(() => {
    const targets = new Set<string>()
    const add = (before: ListPreview, preview: Client.Preview): ListPreview => {
      let [duplicates, known, toBuy] = [before.duplicates, before.known, before.toBuy]
      for (const entry of preview.entries) {
        if (!entry.valid) options.onInvalid(entry.url, entry.problem)
        else if (targets.has(entry.target)) duplicates++
        else {
          targets.add(entry.target)
          if (entry.known) known++
          else toBuy++
        }
      }
      return {
        total: before.total + preview.summary.total,
        valid: before.valid + preview.summary.valid,
        invalid: before.invalid + preview.summary.invalid,
        duplicates,
        known,
        toBuy,
        maxCredits: before.maxCredits + preview.maxCredits,
        availableCredits: preview.availableCredits,
      }
    }
    return batches.pipe(
      Stream.mapEffect(options.ask, { concurrency: options.concurrency }),
      Stream.runFold(empty, add),
    )
  })

export const describe = (preview: ListPreview): string => {
  const { availableCredits, duplicates, invalid, known, maxCredits, toBuy, total, valid } = preview
  return [
    `Of ${counted(total, "URL")}, ${count(valid)} can be checked and ${count(invalid)} cannot; ${counted(duplicates, "is a duplicate", "are duplicates")}.`,
    `The service knows ${counted(known, "target")} and would buy ${count(toBuy)}.`,
    `A check costs at most ${counted(maxCredits, "credit")}, and the account has ${count(availableCredits)}.`,
  ].join(" ")
}

const count = (n: number) => n.toLocaleString("en")
