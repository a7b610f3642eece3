/**
 * The port to the memory of a long check: what each batch of its list became, so that a run that
 * was stopped, however rudely, is taken up where it was. A batch is named before it is sent, and
 * its name is its idempotency key: sent again, it is not paid for again.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { v4 as uuid } from "uuid"
import type { CompactOutcome } from "../Metrics.ts"

export interface Answer {
  /** One for each URL of the batch, in their order. */
  readonly results: ReadonlyArray<CompactOutcome>
  readonly creditsUsed: number
}

/** A batch that was sent at least once. */
export interface Entry {
  /** A hash of its URLs. */
  readonly fingerprint: string
  /** Undefined when the run stopped before it came. */
  readonly answer: Answer | undefined
}

/** The journal cannot be read or written; `message` says what to do. */
export class JournalFailed extends Data.TaggedError("JournalFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export class CheckJournal extends Context.Tag("authority/CheckJournal")<
  CheckJournal,
  {
    /** Under this name the batches are sent, each with its number. */
    readonly runId: string
    /** When the run was begun, in epoch milliseconds; batches that have their answer already. */
    readonly startedAt: number
    readonly answered: number
    /** Batches that were sent before `epochMs` and have no answer. */
    readonly unansweredSince: (epochMs: number) => Effect.Effect<number, JournalFailed>
    /** Batches are numbered from 0. */
    readonly find: (batch: number) => Effect.Effect<Entry | undefined, JournalFailed>
    /** On the disk before the batch goes out. */
    readonly sending: (batch: number, fingerprint: string) => Effect.Effect<void, JournalFailed>
    /** On the disk when it returns. */
    readonly keep: (batch: number, answer: Answer) => Effect.Effect<void, JournalFailed>
    /** How many batches were sent, ever. */
    readonly size: Effect.Effect<number, JournalFailed>
  }
>() {}

/** For a list that cannot be given again, as nothing could be taken up. */
export const forgetful: Layer.Layer<CheckJournal> = Layer.effect(
  CheckJournal,
  Effect.map(Clock.currentTimeMillis, (startedAt) => ({
    runId: uuid(),
    startedAt,
    answered: 0,
    unansweredSince: () => Effect.succeed(0),
    find: () => Effect.succeed(undefined),
    sending: () => Effect.void,
    keep: () => Effect.void,
    size: Effect.succeed(0),
  })),
)
