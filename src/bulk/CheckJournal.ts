/**
 * The port to the journal of a bulk check. The journal stores the answer to each batch of a list,
 * so that a run can resume after any stop, even a crash. A batch is recorded before it is sent. The
 * run id and the batch's number form the batch's idempotency key, so a batch that is sent again is
 * not charged again.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { v4 as uuid } from "uuid"
import { FailureReason, Metrics } from "../Metrics.ts"
import { Explanation, Provenance } from "../Provenance.ts"

/** An outcome without its URL. Batches that earlier versions sent have no provenance. */
export const JournaledResult = Schema.Union(
  Schema.Struct({
    ...Metrics.fields,
    provenance: Schema.optionalWith(Provenance, { exact: true }),
  }),
  Schema.Struct({
    reason: FailureReason,
    cause: Schema.optionalWith(Explanation.fields.cause, { exact: true }),
    detail: Schema.optionalWith(Schema.String, { exact: true }),
  }),
)
export type JournaledResult = typeof JournaledResult.Type

export interface JournaledAnswer {
  /** One result per URL of the batch, in the order of the URLs. */
  readonly results: ReadonlyArray<JournaledResult>
  readonly creditsUsed: number
}

/** The record of a batch that was sent, or was about to be sent. */
export interface Entry {
  readonly fingerprint: string
  /** Undefined when the run stopped before the answer arrived. */
  readonly answer: JournaledAnswer | undefined
}

/** The journal cannot be read or written; `message` says what to do. */
export class JournalFailed extends Data.TaggedError("JournalFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export class CheckJournal extends Context.Tag("authority/CheckJournal")<
  CheckJournal,
  {
    /**
     * The random id of the run. A batch's idempotency key is this id, a hyphen and the batch's
     * number.
     */
    readonly runId: string
    /** When the run began, in epoch milliseconds. */
    readonly startedAt: number
    /** When the run finished, in epoch milliseconds; undefined while batches are left. */
    readonly finishedAt: number | undefined
    /** Number of batches whose answer was already in the journal when the journal was opened. */
    readonly answered: number
    /** Counts the batches without an answer whose first attempt was before `epochMs`. */
    readonly unansweredSince: (epochMs: number) => Effect.Effect<number, JournalFailed>
    /** Finds the record of a batch. Batches are numbered from 0. */
    readonly find: (batch: number) => Effect.Effect<Entry | undefined, JournalFailed>
    /** Records that a batch is about to be sent. Returns when the record is on disk. */
    readonly sending: (batch: number, fingerprint: string) => Effect.Effect<void, JournalFailed>
    /** Stores the answer to a batch. Returns when the answer is on disk. */
    readonly keep: (batch: number, answer: JournaledAnswer) => Effect.Effect<void, JournalFailed>
    /**
     * Counts all batches in the journal, including batches that were sent before the run was
     * resumed.
     */
    readonly size: Effect.Effect<number, JournalFailed>
    /** Records that every URL has its outcome. Returns when the record is on disk. */
    readonly finish: Effect.Effect<void, JournalFailed>
  }
>() {}

/**
 * A journal that stores nothing, for a run that has neither an input file nor an output file. Such a
 * run cannot be resumed.
 */
export const forgetful: Layer.Layer<CheckJournal> = Layer.effect(
  CheckJournal,
  Effect.map(Clock.currentTimeMillis, (startedAt) => ({
    runId: uuid(),
    startedAt,
    finishedAt: undefined,
    answered: 0,
    unansweredSince: () => Effect.succeed(0),
    find: () => Effect.succeed(undefined),
    sending: () => Effect.void,
    keep: () => Effect.void,
    size: Effect.succeed(0),
    finish: Effect.void,
  })),
)
