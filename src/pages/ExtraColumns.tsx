import type { Signal } from "@preact/signals"
import type { OwnColumns } from "../lists/outcomeTable.ts"
import type { Row } from "./Row.ts"
import * as TableView from "./TableView.ts"

export const columnName = (column: TableView.Extra, own: OwnColumns): string =>
  TableView.allColumns(own).find(([other]) => other === column)?.[1] ?? ""

export const ColumnChoice = ({
  extras,
  own,
}: {
  readonly own: OwnColumns
  readonly extras: Signal<ReadonlyArray<TableView.Extra>>
}) => (
  <details class="columns">
    <summary>Columns</summary>
    <div>
      {TableView.allColumns(own).map(([column, name]) => (
        <label key={column} class="choice">
          <input
            type="checkbox"
            checked={extras.value.includes(column)}
            onChange={({ currentTarget }) =>
              (extras.value = TableView.allColumns(own)
                .map(([other]) => other)
                .filter((other) =>
                  other === column ? currentTarget.checked : extras.value.includes(other),
                ))
            }
          />
          {name}
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
