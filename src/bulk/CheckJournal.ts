/** The journal file of `authority check`. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { CompactOutcome, FailureReason, Metrics } from "../Metrics.ts"
import { Explanation, Provenance } from "../Provenance.ts"
import type { Journal } from "../run/Journal.ts"

/** The journal cannot be read or written; `message` says what to do. */
export class JournalFailed extends Data.TaggedError("JournalFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

const optional = { exact: true } as const

/** An outcome without its URL. Version 1.0 has the compact form. */
export const EarlierResult = Schema.Union(
  CompactOutcome,
  Schema.Struct({ ...Metrics.fields, provenance: Schema.optionalWith(Provenance, optional) }),
  Schema.Struct({
    reason: FailureReason,
    cause: Schema.optionalWith(Explanation.fields.cause, optional),
    detail: Schema.optionalWith(Schema.String, optional),
  }),
)
export type EarlierResult = typeof EarlierResult.Type

/**
 * A batch that an earlier version recorded: up to 50 successive URLs of the list, known by their
 * fingerprint.
 */
export interface EarlierBatch {
  readonly key: string
  /** SHA-256 of the JSON text of the URLs, in base64. */
  readonly fingerprint: string
  /** In epoch milliseconds. */
  readonly sentAt: number
  readonly creditsUsed: number
  /** One result per URL; null without an answer. */
  readonly results: ReadonlyArray<EarlierResult> | null
}

/** The methods reject with JournalFailed. */
export interface CheckJournal extends Journal {
  /** When every URL of the list had its outcome, in epoch milliseconds; undefined before. */
  readonly finishedAt: () => Promise<number | undefined>
  readonly finish: () => Promise<void>
  /** Forgets all batches, so that a new run begins. */
  readonly clear: () => Promise<void>
  /** The batches of an earlier version that this file contains. */
  readonly earlier: () => Promise<ReadonlyArray<EarlierBatch>>
  readonly forgetEarlier: () => Promise<void>
}
