import * as Context from "effect/Context"

/**
 * When the present request must have its answer, in epoch milliseconds. A provider that waits for
 * several things at once gives what it has by then; without a request there is no deadline.
 */
export class Deadline extends Context.Reference<Deadline>()("authority/Deadline", {
  defaultValue: () => Number.POSITIVE_INFINITY,
}) {}
