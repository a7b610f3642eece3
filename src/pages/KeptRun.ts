/** The schemas of a stored run: its summary, and its list. */
import * as v from "valibot"

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

export const Summary = v.object({
  id: v.string(),
  /** The name of the list's file, or the user's own; empty without a name. */
  name: v.optional(v.string(), ""),
  /** The first characters of the API key that last paid for the run. */
  keyStart: v.exactOptional(v.string()),
  /** The name of the account that last paid for the run, if the service has named it. */
  account: v.exactOptional(v.string()),
  /** When the run was first started, in epoch milliseconds. */
  startedAt: v.pipe(v.number(), v.integer()),
  /** The rows of the list. */
  total: Count,
  checked: Count,
  failed: Count,
  creditsUsed: v.pipe(v.number(), v.minValue(0)),
})
export type Summary = Readonly<v.InferOutput<typeof Summary>>

export const KeptList = v.object({
  items: v.array(v.object({ url: v.string(), others: v.array(v.string()) })),
  /** The columns of a list that is a table. */
  own: v.exactOptional(v.object({ column: v.number(), columns: v.array(v.string()) })),
})
/** A list of URLs: its rows, and the names of its columns when it is a table. */
export type KeptList = v.InferOutput<typeof KeptList>
