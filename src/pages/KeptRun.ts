/** What is kept of a run: a summary and its batches, as schemas for what the browser returns. */
import * as v from "valibot"
import { Figure, Reason } from "./ApiClient.ts"

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

export const Summary = v.object({
  id: v.string(),
  /** In milliseconds since 1970. */
  startedAt: v.pipe(v.number(), v.integer()),
  total: Count,
  checked: Count,
  failed: Count,
  creditsUsed: v.pipe(v.number(), v.minValue(0)),
  /** The names of the columns of `Row.lines`. */
  others: v.array(v.string()),
})

const Row = v.object({
  /** The position in the list, from 1. */
  place: v.pipe(v.number(), v.integer(), v.minValue(1)),
  url: v.string(),
  lines: v.exactOptional(v.array(v.array(v.string()))),
  figures: v.exactOptional(
    v.object({
      domainAuthority: Figure,
      pageAuthority: Figure,
      spamScore: v.exactOptional(Figure),
    }),
  ),
  reason: v.exactOptional(v.union([Reason, v.literal("TOO_LONG")])),
})

const Parcel = v.object({
  /** With the run's id, this is the idempotency key of the batch. */
  number: Count,
  rows: v.array(Row),
})

export type Summary = Readonly<v.InferOutput<typeof Summary>>

export interface KeptRun {
  readonly summary: Summary
  readonly parcels: ReadonlyArray<v.InferOutput<typeof Parcel>>
}

/** A change of one run. A parcel with a known number is replaced. */
export interface Change {
  readonly summary: Summary
  readonly parcels: ReadonlyArray<{ readonly number: number }>
  /** True when these are all parcels of the run. */
  readonly isWhole: boolean
  /** The number of a parcel that no longer exists. */
  readonly removed?: number
}

/** Returns undefined when the value is not a complete run. */
export const readRun = (value: unknown): KeptRun | undefined => {
  const read = v.safeParse(v.object({ summary: Summary, parcels: v.array(Parcel) }), value)
  return read.success && isComplete(read.output) ? read.output : undefined
}

/** Every place of the list is there once. */
const isComplete = ({ parcels, summary }: KeptRun): boolean => {
  const places = new Set(parcels.flatMap(({ rows }) => rows.map(({ place }) => place)))
  const rows = parcels.reduce((sum, { rows }) => sum + rows.length, 0)
  return (
    rows === summary.total && places.size === rows && [...places].every((place) => place <= rows)
  )
}
