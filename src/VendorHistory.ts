import * as Context from "effect/Context"

/** The pages for which a provider should also return its own history of their figures. */
export class HistoryWanted extends Context.Reference<HistoryWanted>()("authority/HistoryWanted", {
  defaultValue: (): ReadonlySet<string> => new Set(),
}) {}
