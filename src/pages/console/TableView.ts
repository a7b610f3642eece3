/** Filters, sorts and counts the rows of a run. */
import { distinct, type OwnColumns } from "../../lists/outcomeTable.ts"
import { isWaiting, type Reason, type Row } from "./Row.ts"

export const figures = ["domainAuthority", "pageAuthority", "spamScore"] as const

export type Figure = (typeof figures)[number]

export const figureNames: Readonly<Record<Figure, string>> = {
  domainAuthority: "Domain authority",
  pageAuthority: "Page authority",
  spamScore: "Spam score",
}

/** A column that the user can show: an origin of the figures, or a column of the user's table. */
export type Extra = "source" | "provider" | "index" | `own ${number}`

/** The names of the list's own columns, without the column of the URLs. */
const namesOf = (own: OwnColumns): ReadonlyArray<string> =>
  own === undefined
    ? []
    : distinct(
        own.columns.filter((_, index) => index !== own.column),
        [],
      )

/** All columns that the table can show besides ours, with their names. */
export const allColumns = (own: OwnColumns): ReadonlyArray<readonly [Extra, name: string]> => [
  ...namesOf(own).map((name, index) => [`own ${index}`, name] as const),
  ["source", "Source"],
  ["provider", "Provider"],
  ["index", "Index"],
]

/** How many of the list's own columns are shown until the user chooses others. */
const shownOwn = 2

export const usualColumns = (own: OwnColumns): ReadonlyArray<Extra> =>
  allColumns(own)
    .map(([column]) => column)
    .filter((column, i) => column === "source" || (i < shownOwn && column.startsWith("own ")))

export interface Sorting {
  readonly by: "place" | "url" | Figure | Extra
  readonly descending: boolean
}

/** The order of the table until the user chooses another one. */
export const usualSorting: Sorting = { by: "domainAuthority", descending: true }

export interface Filter {
  /** Selects the rows whose URL contains this text, ignoring case. */
  readonly text: string
  readonly outcome: "all" | "checked" | "failed" | "waiting" | Reason
  /** Selects rows by the tenth of the scale in which a figure lies. Tenth 0 is 0 to below 10. */
  readonly tenth: { readonly figure: Figure; readonly number: number } | undefined
}

export const everything: Filter = {
  text: "",
  outcome: "all",
  tenth: undefined,
}

export const isEverything = (filter: Filter) =>
  filter.text.trim() === "" && filter.outcome === "all" && filter.tenth === undefined

export const select = (
  { rows: all }: { readonly rows: ReadonlyArray<Row> },
  filter: Filter,
  sorting: Sorting,
): ReadonlyArray<Row> => {
  const text = filter.text.trim().toLowerCase()
  const rows = all.filter(
    (row) =>
      (text === "" || row.url.toLowerCase().includes(text)) &&
      hasOutcome(row, filter.outcome) &&
      (filter.tenth === undefined ||
        (row.figures !== undefined &&
          tenthOf(row.figures[filter.tenth.figure]) === filter.tenth.number)),
  )
  const { by, descending } = sorting
  // The rows are already in the order of the list.
  if (by === "place") return descending ? rows.reverse() : rows
  return rows.sort(order(by, descending ? -1 : 1))
}

const hasOutcome = (row: Row, outcome: Filter["outcome"]) => {
  switch (outcome) {
    case "all":
      return true
    case "checked":
      return row.figures !== undefined
    case "failed":
      return row.reason !== undefined
    case "waiting":
      return isWaiting(row)
    default:
      return row.reason === outcome
  }
}

/** Rows without a value come last in both directions. Numbers come before text. */
const order = (by: Exclude<Sorting["by"], "place">, sign: 1 | -1) => {
  const valueOf = (row: Row) => {
    if (by === "url") return row.url
    if (isFigure(by)) return row.figures?.[by]
    const cell = cellOf(row, by)
    return by.startsWith("own ") && Number.isFinite(Number(cell)) ? Number(cell) : cell
  }
  return (a: Row, b: Row) => {
    const left = valueOf(a)
    const right = valueOf(b)
    if (left === right) return a.place - b.place
    if (left === undefined) return 1
    if (right === undefined) return -1
    if (typeof left !== typeof right) return typeof left === "number" ? -sign : sign
    return left < right ? -sign : sign
  }
}

const isFigure = (column: Figure | Extra): column is Figure =>
  figures.some((figure) => figure === column)

/** The text of a cell; undefined if the row has none. The text of `source` sorts by its date. */
export const cellOf = ({ figures, others }: Row, column: Extra): string | undefined => {
  switch (column) {
    case "source":
      return figures?.provenance?.fetchedAt
    case "provider":
      return figures?.provenance?.provider
    case "index":
      return figures?.provenance?.index ?? undefined
    default:
      return others[Number(column.slice("own ".length))]?.trim() || undefined
  }
}

/** Returns the tenth of the scale: 0 for 0 to below 10, …, and 9 for 90 to 100. */
const tenthOf = (figure: number | undefined) =>
  figure === undefined ? undefined : Math.min(9, Math.floor(figure / 10))

/** A figure above its limit is high: good for an authority, suspicious for a spam score. */
export const limits: Readonly<Record<Figure, number>> = {
  domainAuthority: 50,
  pageAuthority: 50,
  spamScore: 30,
}

/** Moz's ranges of the spam score: 1–30 % is low, 31–60 % is medium, 61–100 % is high. */
export const severity = (spamScore: number | undefined) =>
  spamScore === undefined || spamScore <= limits.spamScore
    ? "low"
    : spamScore <= 60
      ? "medium"
      : "high"

interface Distribution {
  /** The number of figures in each tenth of the scale. */
  readonly counts: ReadonlyArray<number>
  /** The number of all figures. */
  readonly total: number
  /** The number of figures above the figure's limit in `limits`. */
  readonly above: number
  readonly median: number | undefined
}

/** Counts each target once, however often the list repeats it. */
export const distribution = (rows: ReadonlyArray<Row>, figure: Figure): Distribution => {
  const figures = rows
    .flatMap(({ figures, sameAs }) => (sameAs === undefined ? (figures?.[figure] ?? []) : []))
    .sort((a, b) => a - b)
  const counts = Array.from({ length: 10 }, () => 0)
  for (const value of figures) {
    const tenth = tenthOf(value) ?? 0
    counts[tenth] = (counts[tenth] ?? 0) + 1
  }
  const middle = figures.length >> 1
  const [upper, lower] = [figures[middle], figures[figures.length % 2 === 0 ? middle - 1 : middle]]
  return {
    counts,
    total: figures.length,
    above: figures.filter((value) => value > limits[figure]).length,
    median: upper === undefined || lower === undefined ? undefined : (upper + lower) / 2,
  }
}
