import type { Signal } from "@preact/signals"
import { distinct } from "../list/outcomeTable.ts"
import type { KeptList } from "./KeptRun.ts"
import type { Row } from "./Row.ts"
import * as TableView from "./TableView.ts"

type Own = KeptList["own"]

/** The names of the list's own columns, without the column of the URLs. */
const namesOf = (own: Own): ReadonlyArray<string> =>
  own === undefined
    ? []
    : distinct(
        own.columns.filter((_, index) => index !== own.column),
        [],
      )

const origins = { source: "Source", provider: "Provider", index: "Index" } as const

const allColumns = (own: Own): ReadonlyArray<TableView.Extra> => [
  ...namesOf(own).map((_, index) => `own ${index}` as const),
  "source",
  "provider",
  "index",
]

/** How many of the list's own columns are shown until the user chooses others. */
const shownOwn = 2

export const usualColumns = (own: Own): ReadonlyArray<TableView.Extra> =>
  allColumns(own).filter(
    (column, index) => index < Math.min(shownOwn, namesOf(own).length) || column === "source",
  )

export const columnName = (column: TableView.Extra, own: Own): string =>
  column === "source" || column === "provider" || column === "index"
    ? origins[column]
    : (namesOf(own)[Number(column.slice("own ".length))] ?? "")

export const ColumnChoice = ({
  extras,
  own,
}: {
  readonly own: Own
  readonly extras: Signal<ReadonlyArray<TableView.Extra>>
}) => (
  <details class="columns">
    <summary>Columns</summary>
    <div>
      {allColumns(own).map((column) => (
        <label key={column} class="choice">
          <input
            type="checkbox"
            checked={extras.value.includes(column)}
            onChange={({ currentTarget }) =>
              (extras.value = allColumns(own).filter((other) =>
                other === column ? currentTarget.checked : extras.value.includes(other),
              ))
            }
          />
          {columnName(column, own)}
        </label>
      ))}
    </div>
  </details>
)

export const ExtraCell = ({
  column,
  row,
}: {
  readonly row: Row
  readonly column: TableView.Extra
}) => {
  const text = TableView.cellOf(row, column)
  const provenance = row.figures?.provenance
  return (
    <td class="extra">
      {column === "source" && provenance !== undefined ? (
        <span title={`${provenance.provider}, ${provenance.fetchedAt}`}>
          {isEstimate(provenance.index) ? "estimate" : provenance.source}{" "}
          <time>{provenance.fetchedAt.slice(0, 10)}</time>
        </span>
      ) : (
        <span class="clip" title={text}>
          {text}
        </span>
      )}
    </td>
  )
}

/** Figures that are computed from an imported list. */
const isEstimate = (index: string | null) => index?.includes("estimate") === true
