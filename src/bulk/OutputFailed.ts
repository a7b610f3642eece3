import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"
import { fileProblem } from "../text/fileProblem.ts"

/** The output cannot be written. `message` says why. */
export class OutputFailed extends Data.TaggedError("OutputFailed")<{
  readonly message: string
}> {
  /**
   * Makes an OutputFailed from a write error. The message calls the output `name`: a file name or
   * `stdout`.
   */
  static readonly of =
    (name: string) =>
    (cause: unknown): OutputFailed =>
      new OutputFailed({
        message:
          Predicate.hasProperty(cause, "code") && cause.code === "EPIPE"
            ? "the output pipe was closed"
            : `${name} cannot be written: ${fileProblem(cause)}`,
      })
}
