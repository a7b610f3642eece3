/**
 * The stored answer of a batch, for a replay. The stored answer contains no URLs, because a
 * repeated request sends the URLs again. Its size is at most a few kilobytes.
 */
import * as Schema from "effect/Schema"
import { Credits } from "./ledger/Credits.ts"
import { compact, CompactOutcome, expand, failed, Outcome } from "./Metrics.ts"
import { Source } from "./Provenance.ts"

/** The content of an answer, without the URLs. */
export interface StoredAnswer {
  /** One outcome for each URL, in the order of the request. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** As in `Report`. */
  readonly sources?: ReadonlyArray<Source> | undefined
}

/** Encodes an answer. `decode` must read the output of every earlier version of this function. */
export const encode = ({ creditsUsed, outcomes, sources }: StoredAnswer): string => {
  const stored: typeof Stored.Encoded = {
    creditsUsed,
    outcomes: outcomes.map(encodeOutcome),
    ...(sources !== undefined && { sources }),
  }
  return JSON.stringify(stored)
}

/**
 * Decodes an answer. Throws when the text is not a stored answer. The `detail` of a failure is not
 * stored.
 */
export const decode = (text: string): StoredAnswer => {
  const { outcomes, ...stored } = decodeStored(text)
  return { ...stored, outcomes: outcomes.map(decodeOutcome) }
}

const Stored = Schema.Struct({
  creditsUsed: Credits,
  outcomes: Schema.Array(CompactOutcome),
  sources: Schema.optionalWith(Schema.Array(Source), { exact: true }),
})
const decodeStored = Schema.decodeUnknownSync(Schema.parseJson(Stored))

const encodeOutcome = (outcome: Outcome): CompactOutcome =>
  outcome._tag === "Failed" ? outcome.reason : compact(outcome.metrics)

const decodeOutcome = (stored: CompactOutcome): Outcome =>
  typeof stored === "string"
    ? failed(stored, "as stored")
    : Outcome.Checked({ metrics: expand(stored) })
