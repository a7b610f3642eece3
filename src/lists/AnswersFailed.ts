import * as Data from "effect/Data"

/** The store of answers cannot be read or written; `message` says what to do. */
export class AnswersFailed extends Data.TaggedError("AnswersFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}
