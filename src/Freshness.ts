import * as Context from "effect/Context"

/**
 * The greatest age of known figures that the current request accepts, in milliseconds. Infinite
 * when the client names none. Older figures are bought anew.
 */
export class Freshness extends Context.Reference<Freshness>()("authority/Freshness", {
  defaultValue: () => Number.POSITIVE_INFINITY,
}) {}
