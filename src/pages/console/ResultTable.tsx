import { type Signal, useSignal } from "@preact/signals"
import { type RefObject } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { OwnColumns } from "../../lists/outcomeTable.ts"
import { filter, results, selected, sorting } from "./ConsoleState.ts"
import { FigureChart, HistoryButton } from "./FigureChart.tsx"
import { Menu } from "../Parts.tsx"
import { linkOf, partsOf, type Row } from "./Row.ts"
import * as TableView from "./TableView.ts"
import { addresses, explanation, figure, number, reasons } from "../Texts.ts"

export const ResultTable = ({ own }: { readonly own: OwnColumns }) => {
  const rows = selected.value
  const shown = useSignal<ReadonlyArray<string>>(TableView.usualColumns(own))
  const extras = TableView.allColumns(own).filter(([column]) => shown.value.includes(column))
  const body = useRef<HTMLTableSectionElement>(null)
  const { above, below, end, start } = useWindow(body, rows.length)
  return (
    <section class="table" aria-labelledby="table-title">
      <div class="filters">
        <h2 id="table-title">Results</h2>
        <Filters />
        <ColumnChoice own={own} shown={shown} />
      </div>
      <table
        class={`data results ${extras.length > 0 ? "extras" : ""} ${extras.length > 3 ? "wide" : ""}`}
        aria-rowcount={rows.length + 1}
      >
        <caption class="unseen">Figures of each address. Use the column headers to sort.</caption>
        <thead>
          <tr>
            <Head by="place" name="No." class="num place" />
            <Head by="url" name="Address" class="url" />
            <Head by="domainAuthority" name="Domain authority" short="DA" />
            <Head by="pageAuthority" name="Page authority" short="PA" />
            <Head by="spamScore" name="Spam score" short="Spam" />
            {extras.map(([column, name]) => (
              <Head
                key={column}

                by={column}
                name={name}
                class={`extra ${column}`}
              />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {above > 0 && <Space height={above} />}
          {rows.slice(start, end).map((row, i) => (
            <Line key={row.place} row={row} index={start + i + 2} extras={extras} />
          ))}
          {below > 0 && <Space height={below} />}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p class="none">
          No address matches the filter.{" "}
          <button type="button" onClick={() => (filter.value = TableView.everything)}>
            Show all
          </button>
        </p>
      )}
      <FigureChart />
    </section>
  )
}

/** Up to this many rows are all on the page, so that the browser's search finds them. */
const fewRows = 200

/** How many rows of a longer table are on the page. */
const windowLength = 140
const windowStep = 20

/** The height of a row in the stylesheet, used until a row can be measured. */
const usualHeight = 36

/** Returns which rows are on the page, and the total heights of the rows above and below them. */
const useWindow = (body: RefObject<HTMLTableSectionElement | null>, count: number) => {
  const place = useSignal({ start: 0, height: usualHeight })
  useEffect(() => {
    const look = () => {
      if (body.current === null) return
      const row = body.current.querySelector<HTMLElement>("[aria-rowindex]")
      const height = row?.offsetHeight ?? usualHeight
      const hidden = -body.current.getBoundingClientRect().top / height
      const start = Math.max(0, Math.floor(hidden / windowStep - 2) * windowStep)
      if (start !== place.value.start || height !== place.value.height)
        place.value = { start, height }
    }
    look()
    addEventListener("scroll", look, { passive: true })
    addEventListener("resize", look)
    return () => {
      removeEventListener("scroll", look)
      removeEventListener("resize", look)
    }
  }, [count])
  if (count <= fewRows) return { start: 0, end: count, above: 0, below: 0 }
  const { height } = place.value
  const start = Math.min(place.value.start, Math.max(0, count - windowLength))
  const end = Math.min(count, start + windowLength)
  return { start, end, above: start * height, below: (count - end) * height }
}

const Space = ({ height }: { readonly height: number }) => (
  <tr class="space" aria-hidden="true">
    <td colSpan={99} style={{ height: `${height}px` }} />
  </tr>
)

const Head = ({
  by,
  class: className = "num figure",
  name,
  short,
}: {
  readonly by: TableView.Sorting["by"]
  readonly name: string
  readonly short?: string
  readonly class?: string
}) => {
  const { descending } = sorting.value
  const isSorted = sorting.value.by === by
  // The first click on a column sorts figures from the highest, and other values from the lowest.
  const descendsFirst = className.includes("figure") || by === "source"
  return (
    <th
      scope="col"
      class={className}
      aria-sort={isSorted ? (descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        title={name}
        onClick={() => (sorting.value = { by, descending: isSorted ? !descending : descendsFirst })}
      >
        <span class="arrow" aria-hidden="true">
          {isSorted ? (descending ? "↓" : "↑") : ""}
        </span>
        <span class={short === undefined ? "text" : "long text"}>{name} </span>
        {short !== undefined && <span class="short">{short}</span>}
      </button>
    </th>
  )
}

const Line = ({
  extras,
  index,
  row,
}: {
  readonly row: Row
  /** The number of the row in the whole table, in which the header is the first row. */
  readonly index: number
  readonly extras: ReturnType<typeof TableView.allColumns>
}) => {
  const { figures, outcome, place, reason, sameAs, url } = row
  return (
    <tr aria-rowindex={index}>
      <td class="num place">{number(place)}</td>
      <td class="url" role="rowheader">
        <div class="line">
          <Url url={url} />
          {sameAs !== undefined && <span class="hint same">same as No. {number(sameAs)}</span>}
          <span class="icons">
            {reason !== "INVALID_URL" && <LinkOut url={url} />}
            {figures !== undefined && <HistoryButton url={url} />}
          </span>
        </div>
      </td>
      {figures !== undefined ? (
        TableView.figures.map((figure) => (
          <Cell key={figure} kind={figure} value={figures[figure]} />
        ))
      ) : (
        <td class="num why" colSpan={3}>
          {reason === undefined ? (
            <span class="hint">Waiting</span>
          ) : (
            <span class={`chip reason ${reason === "INVALID_URL" ? "warn" : "bad"}`} tabIndex={0}>
              {reasons[reason].label}
              <span class="tip">{explanation(outcome, reason)}</span>
            </span>
          )}
        </td>
      )}
      {extras.map(([column]) => (
        <ExtraCell key={column} row={row} column={column} />
      ))}
    </tr>
  )
}

/** How many characters at the end of an address stay visible when its middle is cut. */
const tailLength = 12

/** Emphasises the host, because users look for it first. The stylesheet cuts the middle. */
const Url = ({ url }: { readonly url: string }) => {
  const { host, rest, scheme } = partsOf(url)
  const cut = rest.length > 2 * tailLength ? rest.length - tailLength : rest.length
  return (
    <span class="address">
      <span class="head">
        {scheme !== "" && <span class="scheme">{scheme}</span>}
        <span class="host">{host}</span>
        {rest.slice(0, cut)}
      </span>
      {cut < rest.length && <span class="tail">{rest.slice(cut)}</span>}
    </span>
  )
}

const LinkOut = ({ url }: { readonly url: string }) => {
  const link = linkOf(url)
  return link === undefined ? null : (
    <a href={link} target="_blank" rel="noreferrer" aria-label={`Open ${url} in a new tab`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M6 3H3v10h10v-3M9 3h4v4M13 3 7.500 8.500" />
      </svg>
    </a>
  )
}

const Cell = ({
  kind,
  value,
}: {
  readonly kind: TableView.Figure
  readonly value: number | undefined
}) => (
  <td class={`num figure ${kind} ${kind === "spamScore" ? TableView.severity(value) : ""}`}>
    {value === undefined ? (
      <span class="hint" title="The provider has no figure">
        –<span class="unseen"> none</span>
      </span>
    ) : (
      <>
        <span class="track" aria-hidden="true">
          <span style={{ width: `${value}%` }} />
        </span>
        <span class="value">{figure(value)}</span>
      </>
    )}
  </td>
)

const ExtraCell = ({ column, row }: { readonly row: Row; readonly column: TableView.Extra }) => {
  const text = TableView.cellOf(row, column)
  const provenance = row.figures?.provenance
  return column === "source" && provenance !== undefined ? (
    <td class="extra source" title={`${provenance.provider}, ${provenance.fetchedAt}`}>
      {isEstimate(provenance.index) ? "estimate" : provenance.source}{" "}
      <time>{provenance.fetchedAt.slice(0, 10)}</time>
    </td>
  ) : (
    <td class={`extra ${column}`} title={text}>
      {text}
    </td>
  )
}

/** Figures that are computed from an imported list. */
const isEstimate = (index: string | null) => index?.includes("estimate") === true

const ColumnChoice = ({
  own,
  shown,
}: {
  readonly own: OwnColumns
  readonly shown: Signal<ReadonlyArray<string>>
}) => (
  <Menu label="Columns">
    {TableView.allColumns(own).map(([column, name]) => (
      <label key={column} class="choice">
        <input
          type="checkbox"
          checked={shown.value.includes(column)}
          onChange={({ currentTarget: { checked } }) =>
            (shown.value = checked
              ? [...shown.value, column]
              : shown.value.filter((other) => other !== column))
          }
        />
        {name}
      </label>
    ))}
  </Menu>
)

const Filters = () => {
  const found = selected.value.length
  const { outcome, tenth, text } = filter.value
  const change = (part: Partial<TableView.Filter>) => (filter.value = { ...filter.value, ...part })
  return (
    <>
      <label>
        <span class="unseen">Filter by address</span>
        <input
          type="search"
          placeholder="Filter by address"
          spellcheck={false}
          autocapitalize="off"
          value={text}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      </label>
      <label>
        <span class="unseen">Show</span>
        <select
          value={outcome}
          onChange={({ currentTarget: { value } }) =>
            change({ outcome: outcomes.find(([name]) => name === value)?.[0] ?? "all" })
          }
        >
          {outcomes.map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {tenth !== undefined && (
        <button type="button" onClick={() => change({ tenth: undefined })}>
          {TableView.figureNames[tenth.figure]} {tenth.number * 10}–{tenth.number * 10 + 10}{" "}
          <span aria-hidden="true">×</span>
          <span class="unseen">: remove this filter</span>
        </button>
      )}
      <p class="hint" role="status">
        {TableView.isEverything(filter.value)
          ? addresses(found)
          : `${number(found)} of ${addresses(results.value.total)}`}
      </p>
    </>
  )
}

const outcomes = [
  ["all", "All"],
  ["checked", "Checked"],
  ["failed", "Not checked"],
  ["waiting", "Waiting"],
  ["INVALID_URL", reasons.INVALID_URL.label],
  ["PROVIDER_ERROR", reasons.PROVIDER_ERROR.label],
  ["SERVER_ERROR", reasons.SERVER_ERROR.label],
] as const
