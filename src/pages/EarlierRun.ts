/** Takes over the runs that version 1.0 of the console stored: rows in parcels of up to 50. */
import * as v from "valibot"
import { Figures, Reason } from "../client/Bodies.ts"
import type { Batch, Entry } from "../run/Journal.ts"
import { type KeptList, Summary } from "./KeptRun.ts"

const Row = v.object({
  /** The position in the list, from 1. */
  place: v.pipe(v.number(), v.integer(), v.minValue(1)),
  url: v.string(),
  /** The cells of each line of the table that has the URL, without the URL. */
  lines: v.exactOptional(v.array(v.array(v.string()))),
  figures: v.exactOptional(Figures),
  reason: v.exactOptional(v.picklist([...Reason.options, "TOO_LONG"])),
})
type Row = v.InferOutput<typeof Row>

const Earlier = v.object({
  summary: v.object({ ...Summary.entries, others: v.array(v.string()) }),
  /** The run's id and the number of a parcel make its idempotency key. */
  parcels: v.array(v.object({ number: v.number(), rows: v.array(Row) })),
})
type Earlier = v.InferOutput<typeof Earlier>

export interface TakenOver {
  readonly list: KeptList
  readonly entries: ReadonlyArray<Entry>
  readonly batches: ReadonlyArray<Batch>
}

/** How many batches version 1.0 had in flight. It sent the batches in the order of the list. */
const maxAtOnce = 4

/**
 * Returns undefined when the run is invalid or incomplete. Identical URLs have the same target,
 * because version 1.0 knew no canonical form.
 */
export const takeOver = (value: unknown): TakenOver | undefined => {
  const read = v.safeParse(Earlier, value)
  if (!read.success || !isComplete(read.output)) return undefined
  const { parcels, summary } = read.output
  const rows = parcels.flatMap(({ rows }) => rows).sort(byPlace)
  const waiting = parcels
    .filter(({ rows }) => rows.some((row) => !isAnswered(row)))
    .sort((a, b) => (a.rows[0]?.place ?? 0) - (b.rows[0]?.place ?? 0))
    .slice(0, maxAtOnce)
  const answered = rows.filter((row) => isAnswered(row) && !isInvalid(row))
  const sent = waiting.flatMap(({ rows }) => rows)
  return {
    list: listOf(rows, summary.others),
    entries: [
      ...rows.filter(isInvalid).map(({ reason, url }) => ({
        url,
        problem: reason === "TOO_LONG" ? "it is too long" : "it is not a public web address",
      })),
      ...[...answered, ...sent].map(itemOf),
    ],
    batches: [
      ...(answered.length === 0 ? [] : [answerOf(answered, summary)]),
      ...waiting.map(({ number, rows }) => ({
        key: `${summary.id}-${number}`,
        items: rows.map(itemOf),
        sentAt: summary.startedAt,
        provenance: false,
      })),
    ],
  }
}

/** True when the parcels together have each position of the list exactly once. */
const isComplete = ({ parcels, summary }: Earlier): boolean => {
  const places = parcels.flatMap(({ rows }) => rows.map(({ place }) => place))
  return (
    places.length === summary.total &&
    new Set(places).size === places.length &&
    places.every((place) => place <= places.length)
  )
}

const byPlace = (a: Row, b: Row) => a.place - b.place

const isAnswered = ({ figures, reason }: Row) => figures !== undefined || reason !== undefined

const isInvalid = ({ reason }: Row) => reason === "INVALID_URL" || reason === "TOO_LONG"

const itemOf = ({ url }: Row) => ({ url, target: url })

/** A line of a table is a row of its own now. */
const listOf = (rows: ReadonlyArray<Row>, others: ReadonlyArray<string>): KeptList => {
  const items = rows.flatMap(({ lines = [[]], url }) => lines.map((others) => ({ url, others })))
  return others.length === 0
    ? { items }
    : { items, own: { column: 0, columns: ["url", ...others] } }
}

/** One batch with all answers, because only the sum of the credits is known. */
const answerOf = (
  rows: ReadonlyArray<Row>,
  { creditsUsed, id, startedAt }: Earlier["summary"],
): Batch => ({
  key: id,
  items: rows.map(itemOf),
  sentAt: startedAt,
  provenance: false,
  answer: {
    outcomes: rows.map(({ figures, reason, url }) =>
      figures === undefined
        ? { url, reason: reason === "SERVER_ERROR" ? reason : "PROVIDER_ERROR" }
        : { url, ...figures },
    ),
    creditsUsed,
    answeredAt: startedAt,
  },
})
