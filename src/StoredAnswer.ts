/**
 * The answer to a batch as it is stored for a client that sends the request again. The client sends
 * the URLs again, so they are not stored: an answer takes a few kilobytes at most.
 */
import * as Schema from "effect/Schema"
import { Credits } from "./ledger/LedgerEntry.ts"
import { compact, CompactOutcome, expand, Outcome } from "./Metrics.ts"

/** What a client learns beside the URLs. */
export interface StoredAnswer {
  /** One for each URL, in the order of the request. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
}

/** Answers outlive versions of the program: what this wrote once, `decode` reads for ever. */
export const encode = ({ creditsUsed, outcomes }: StoredAnswer): string => {
  const stored: typeof Stored.Encoded = { creditsUsed, outcomes: outcomes.map(encodeOutcome) }
  return JSON.stringify(stored)
}

/** Dies when the text is not a stored answer. The details of failures are not stored. */
export const decode = (text: string): StoredAnswer => {
  const { creditsUsed, outcomes } = decodeStored(text)
  return { creditsUsed, outcomes: outcomes.map(decodeOutcome) }
}

const Stored = Schema.Struct({ creditsUsed: Credits, outcomes: Schema.Array(CompactOutcome) })
const decodeStored = Schema.decodeUnknownSync(Schema.parseJson(Stored))

const encodeOutcome = (outcome: Outcome): CompactOutcome =>
  outcome._tag === "Failed" ? outcome.reason : compact(outcome.metrics)

const decodeOutcome = (stored: CompactOutcome): Outcome =>
  typeof stored === "string"
    ? Outcome.Failed({ reason: stored, detail: "as stored" })
    : Outcome.Checked({ metrics: expand(stored) })
