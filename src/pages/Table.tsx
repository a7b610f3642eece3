/** A table with a title, which scrolls sideways on a narrow screen and can be downloaded as CSV. */
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"
import { csv } from "../lists/outcomeTable.ts"
import { download } from "./Parts.tsx"
import { minute, number } from "./Texts.ts"

type Value = string | number | null | undefined

export interface Column<Row> {
  readonly title: string
  /** The value in the CSV file. It is also shown on the page if the column has no `cell`. */
  readonly value: (row: Row) => Value
  readonly cell: ((row: Row) => ComponentChildren) | undefined
  readonly kind: "" | "num" | "when"
}

type Make = <Row>(
  title: string,
  value: (row: Row) => Value,
  cell?: (row: Row) => ComponentChildren,
) => Column<Row>

export const text: Make = (title, value, cell) => ({ title, value, cell, kind: "" })
export const num: Make = (title, value, cell) => ({ title, value, cell, kind: "num" })

/** A column of ISO times, shown to the minute. */
export const when = <Row,>(title: string, value: (row: Row) => string | null): Column<Row> => {
  const cell = (row: Row) => minute(value(row) ?? "never")
  return { title, value, cell, kind: "when" }
}

/** A column of texts that may be long. */
export const words = <Row,>(title: string, value: (row: Row) => Value) =>
  text(title, value, (row) => <div class="words">{value(row)}</div>)

interface Props<Row> {
  readonly title: string
  readonly rows: ReadonlyArray<Row> | undefined
  readonly columns: ReadonlyArray<Column<Row>>
  readonly keyOf: (row: Row) => string | number
  /** Shown when the table has no rows. */
  readonly empty: string
  /** The start of the CSV file's name. */
  readonly file: string
  /** Shown between the title and the table. */
  readonly children?: ComponentChildren
  /** How many rows are shown at first. */
  readonly first?: number
  readonly foot?: ComponentChildren
}

/** The first column contains the row headers. */
export const Table = <Row,>(props: Props<Row>) => {
  const { children, columns, empty, file, first = 50, foot, keyOf, rows, title } = props
  const id = useId()
  const isWhole = useSignal(false)
  const drawn = isWhole.value ? rows : rows?.slice(0, first)
  const save = () => {
    const cells = (rows ?? []).map((row) => columns.map(({ value }) => value(row)))
    const text = csv([columns.map(({ title }) => title), ...cells], { newline: "\r\n" })
    download(`\uFEFF${text}\r\n`, "csv", { at: new Date(), isSynthetic: false, name: file })
  }
  return (
    <section class="card table" aria-labelledby={id}>
      <div class="line">
        <h2 id={id}>{title}</h2>
        {rows !== undefined && rows.length > 0 && (
          <button type="button" class="small" onClick={save}>
            CSV<span class="unseen"> of {title}</span>
          </button>
        )}
      </div>
      {children}
      {rows === undefined || drawn === undefined || rows.length === 0 ? (
        <p class="hint" role="status">
          {rows === undefined ? "One moment, please." : empty}
        </p>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label={title}>
          <table class="data">
            <thead>
              <tr>
                {columns.map(({ kind, title }) => (
                  <th key={title} scope="col" class={kind}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {drawn.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map((column, i) => {
                    const Cell = i === 0 ? "th" : "td"
                    return (
                      <Cell
                        key={column.title}
                        class={column.kind}
                        scope={i === 0 ? "row" : undefined}
                      >
                        {column.cell === undefined ? shown(column.value(row)) : column.cell(row)}
                      </Cell>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows !== undefined && rows.length > (drawn?.length ?? 0) && (
        <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
          Show all {number(rows.length)} rows
        </button>
      )}
      {foot}
    </section>
  )
}

const shown = (value: Value) => (typeof value === "number" ? number(value) : (value ?? "–"))
