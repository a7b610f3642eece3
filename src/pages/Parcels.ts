/** The batches of a run, and the queue of the batches that wait to be sent. */
import { maxUrlLength, maxUrls } from "../contract/Limits.ts"
import { isWaiting, type Row } from "./Row.ts"

/** Rows that are sent as one request, under the same idempotency key at each retry. */
export interface Parcel {
  readonly number: number
  readonly rows: ReadonlyArray<Row>
}

/** Cuts a list into parcels. Parcel 0 has the URLs that are too long to be sent. */
export const cut = (rows: ReadonlyArray<Row>): ReadonlyArray<Parcel> => {
  const sendable = rows.filter(({ url }) => url.length <= maxUrlLength)
  const tooLong = rows.filter(({ url }) => url.length > maxUrlLength)
  for (const row of tooLong) row.reason = "TOO_LONG"
  const parcels: Array<Parcel> = [{ number: 0, rows: tooLong }]
  for (let start = 0; start < sendable.length; start += maxUrls) {
    parcels.push({ number: parcels.length, rows: sendable.slice(start, start + maxUrls) })
  }
  return parcels
}

export class Parcels {
  readonly #all: Map<number, Parcel>
  readonly #queue: Array<Parcel>
  #highest: number

  constructor(parcels: ReadonlyArray<Parcel>) {
    this.#all = new Map(parcels.map((parcel) => [parcel.number, parcel]))
    this.#highest = parcels.reduce((highest, { number }) => Math.max(highest, number), 0)
    this.#queue = parcels.filter(({ rows }) => rows.some(isWaiting)).sort(byPlace)
  }

  get all(): ReadonlyArray<Parcel> {
    return [...this.#all.values()]
  }

  take(): Parcel | undefined {
    return this.#queue.shift()
  }

  putBack(parcel: Parcel) {
    this.#queue.unshift(parcel)
  }

  /**
   * Replaces the given parcel, which must be the first of the queue, by two new parcels: one with
   * the first `size` rows, and one with the remaining rows.
   */
  split({ number, rows }: Parcel, size: number): ReadonlyArray<Parcel> {
    const parts = [rows.slice(0, size), rows.slice(size)].map((rows) => ({
      number: ++this.#highest,
      rows,
    }))
    this.#queue.splice(0, 1, ...parts)
    this.#all.delete(number)
    for (const part of parts) this.#all.set(part.number, part)
    return parts
  }
}

const byPlace = (a: Parcel, b: Parcel) => (a.rows[0]?.place ?? 0) - (b.rows[0]?.place ?? 0)
