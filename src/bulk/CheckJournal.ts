/** The journal file of `authority check`. */
import * as Data from "effect/Data"
import type { Journal } from "../run/Journal.ts"

/** The journal cannot be read or written; `message` says what to do. */
export class JournalFailed extends Data.TaggedError("JournalFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The methods reject with JournalFailed. */
export interface CheckJournal extends Journal {
  /** When every URL of the list had its outcome, in epoch milliseconds; undefined before. */
  readonly finishedAt: () => Promise<number | undefined>
  readonly finish: () => Promise<void>
  /** Forgets all batches, so that a new run begins. */
  readonly clear: () => Promise<void>
}
