/**
 * The schemas of a stored run: a summary, and parcels. A parcel is a group of rows that is sent as
 * one batch.
 */
import * as v from "valibot"
import { Figures, Reason } from "../client/Bodies.ts"

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

export const Summary = v.object({
  id: v.string(),
  /** When the run was first started, in epoch milliseconds. */
  startedAt: v.pipe(v.number(), v.integer()),
  total: Count,
  checked: Count,
  failed: Count,
  creditsUsed: v.pipe(v.number(), v.minValue(0)),
  /**
   * The names of the columns of the user's table, except the column with the URLs. Each array in
   * `Row.lines` has one cell for each name.
   */
  others: v.array(v.string()),
})

const Row = v.object({
  /** The position in the list, from 1. */
  place: v.pipe(v.number(), v.integer(), v.minValue(1)),
  url: v.string(),
  lines: v.exactOptional(v.array(v.array(v.string()))),
  figures: v.exactOptional(Figures),
  reason: v.exactOptional(v.picklist([...Reason.options, "TOO_LONG"])),
})

const Parcel = v.object({
  /** The run's id and this number make the idempotency key of the batch. */
  number: Count,
  rows: v.array(Row),
})

export type Summary = Readonly<v.InferOutput<typeof Summary>>

export interface KeptRun {
  readonly summary: Summary
  readonly parcels: ReadonlyArray<v.InferOutput<typeof Parcel>>
}

/**
 * The changes of one run to write to the store. If a parcel (a group of rows) with the same number
 * is already stored, the new parcel replaces it.
 */
export interface Change {
  readonly summary: Summary
  readonly parcels: ReadonlyArray<{ readonly number: number }>
  /** True when `parcels` has all parcels of the run, not only the changed ones. */
  readonly isWhole: boolean
  /**
   * The `number` of a parcel (a group of rows) to delete, because it was split into two new
   * parcels.
   */
  readonly removed?: number
}

/** Decodes a stored run. Returns undefined when it is invalid or incomplete. */
export const readRun = (value: unknown): KeptRun | undefined => {
  const read = v.safeParse(v.object({ summary: Summary, parcels: v.array(Parcel) }), value)
  return read.success && isComplete(read.output) ? read.output : undefined
}

/** True when the parcels (groups of rows) together have each position of the list exactly once. */
const isComplete = ({ parcels, summary }: KeptRun): boolean => {
  const places = new Set(parcels.flatMap(({ rows }) => rows.map(({ place }) => place)))
  const rows = parcels.reduce((sum, { rows }) => sum + rows.length, 0)
  return (
    rows === summary.total && places.size === rows && [...places].every((place) => place <= rows)
  )
}
