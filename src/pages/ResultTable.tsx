import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals"
import { type ComponentChildren, Fragment } from "preact"
import { useRef } from "preact/hooks"
import * as Address from "./Address.ts"
import { ColumnChoice, columnName, ExtraCell } from "./ExtraColumns.tsx"
import { FigureChart, HistoryButton } from "./FigureChart.tsx"
import type { Row } from "./Row.ts"
import type { OwnColumns } from "../lists/outcomeTable.ts"
import * as TableView from "./TableView.ts"
import { hasSyntheticFigures, results } from "./ConsoleState.ts"
import { addresses, explanation, figure, number, reasons } from "./Texts.ts"

interface Props {
  readonly own: OwnColumns
  readonly rows: ReadonlySignal<ReadonlyArray<Row>>
  readonly filter: Signal<TableView.Filter>
  readonly sorting: Signal<TableView.Sorting>
  readonly children: ComponentChildren
}

/** Lines per page: rows or, in the view by domain, domains. Browsers become slow with many rows. */
const pageLength = 100

export const ResultTable = ({ children, filter, own, rows, sorting }: Props) => {
  const page = useSignal(0)
  const isByDomain = useSignal(false)
  const extras = useSignal(TableView.usualColumns(own))
  const title = useRef<HTMLHeadingElement>(null)
  const lines = useComputed(() => (isByDomain.value ? TableView.byDomain(rows.value) : rows.value))
  const last = Math.max(0, Math.ceil(lines.value.length / pageLength) - 1)
  const current = Math.min(page.value, last)
  const turnTo = (number: number) => {
    page.value = Math.max(0, Math.min(number, last))
    title.current?.scrollIntoView()
  }
  return (
    <section class="card table" aria-labelledby="table-title">
      <div class="line">
        <h2 id="table-title" ref={title}>
          Results{hasSyntheticFigures && <span class="badge">synthetic figures</span>}
        </h2>
        {children}
      </div>
      <Filters filter={filter} found={rows.value.length}>
        <label class="choice">
          <input
            type="checkbox"
            checked={isByDomain.value}
            onChange={(event) => (isByDomain.value = event.currentTarget.checked)}
          />
          Group by domain
        </label>
        <ColumnChoice own={own} extras={extras} />
      </Filters>
      <table class={extras.value.length > 3 ? "wide" : ""}>
        <caption class="unseen">Figures of each address. Use the column headers to sort.</caption>
        <Heads own={own} sorting={sorting} extras={extras.value} />
        <tbody>
          {lines.value
            .slice(current * pageLength, (current + 1) * pageLength)
            .map((line) =>
              "domain" in line ? (
                <Domain key={line.domain} group={line} filter={filter} extras={extras.value} />
              ) : (
                <Line key={line.place} row={line} extras={extras.value} />
              ),
            )}
        </tbody>
      </table>
      {rows.value.length === 0 && (
        <p class="none">
          No address matches the filter.{" "}
          <button type="button" class="quiet" onClick={() => (filter.value = TableView.everything)}>
            Show all
          </button>
        </p>
      )}
      {last > 0 && (
        <Pages current={current} last={last} total={lines.value.length} turnTo={turnTo} />
      )}
      <FigureChart />
    </section>
  )
}

const Heads = ({
  extras,
  own,
  sorting,
}: Pick<Props, "own" | "sorting"> & { readonly extras: ReadonlyArray<TableView.Extra> }) => (
  <thead>
    <tr>
      <Head sorting={sorting} by="place" name="No." class="place" />
      <Head sorting={sorting} by="url" name="Address" class="url" />
      <Head sorting={sorting} by="domainAuthority" name="Domain authority" short="DA" />
      <Head sorting={sorting} by="pageAuthority" name="Page authority" short="PA" />
      <Head sorting={sorting} by="spamScore" name="Spam score" short="Spam" />
      {extras.map((extra) => (
        <Head
          key={extra}
          sorting={sorting}
          by={extra}
          name={columnName(extra, own)}
          class="extra"
        />
      ))}
    </tr>
  </thead>
)

const Head = ({
  by,
  class: className = "figure",
  name,
  short,
  sorting,
}: {
  readonly sorting: Signal<TableView.Sorting>
  readonly by: TableView.Sorting["by"]
  readonly name: string
  readonly short?: string
  readonly class?: string
}) => {
  const { descending } = sorting.value
  const isSorted = sorting.value.by === by
  // The first click on a column sorts figures from the highest, and other values from the lowest.
  const descendsFirst = className === "figure" || by === "source"
  return (
    <th
      scope="col"
      class={className}
      aria-sort={isSorted ? (descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        onClick={() => (sorting.value = { by, descending: isSorted ? !descending : descendsFirst })}
      >
        <span class={short === undefined ? "" : "long"}>{name} </span>
        {short !== undefined && <span class="short">{short}</span>}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (descending ? "↓" : "↑") : ""}
        </span>
      </button>
    </th>
  )
}

const Line = ({
  extras,
  row,
  isInside = false,
}: {
  readonly row: Row
  readonly extras: ReadonlyArray<TableView.Extra>
  /** True below the line of the row's domain. */
  readonly isInside?: boolean
}) => {
  const { figures, outcome, place, reason, sameAs, url } = row
  return (
    <tr class={isInside ? "inside" : ""}>
      <td class="place">{number(place)}</td>
      <td class="url" role="rowheader" title={url}>
        <Url url={url} />
        <span class="icons">
          {reason !== "INVALID_URL" && <LinkOut url={url} />}
          {figures !== undefined && <HistoryButton url={url} />}
        </span>
        {sameAs !== undefined && <span class="hint same"> same as No. {number(sameAs)}</span>}
      </td>
      {figures !== undefined ? (
        <>
          <Cell kind="domainAuthority" value={figures.domainAuthority} />
          <Cell kind="pageAuthority" value={figures.pageAuthority} />
          <Cell kind="spamScore" value={figures.spamScore} />
        </>
      ) : (
        <td class="why" colSpan={3}>
          {reason === undefined ? (
            <span class="waits">Waiting</span>
          ) : (
            <>
              <span class={`reason ${reason}`}>{reasons[reason].label}</span>{" "}
              {explanation(outcome, reason)}
            </>
          )}
        </td>
      )}
      {extras.map((extra) => (
        <ExtraCell key={extra} row={row} column={extra} />
      ))}
    </tr>
  )
}

/** One line for the addresses of a domain, with their highest figures. It unfolds to their rows. */
const Domain = ({
  extras,
  filter,
  group: { domain, rows },
}: {
  readonly group: TableView.Group
  readonly extras: ReadonlyArray<TableView.Extra>
} & Pick<Props, "filter">) => {
  const isOpen = useSignal(false)
  const [first] = rows
  if (rows.length === 1 && first !== undefined) return <Line row={first} extras={extras} />
  const hidden = rows.length - pageLength
  return (
    <>
      <tr class="domain">
        <td class="place" />
        <td class="url" role="rowheader">
          <button
            type="button"
            aria-expanded={isOpen.value}
            onClick={() => (isOpen.value = !isOpen.value)}
          >
            <Url url={domain} />
          </button>{" "}
          <span class="hint">{addresses(rows.length)}</span>
        </td>
        {rows.some(({ figures }) => figures !== undefined) ? (
          TableView.figures.map((figure) => (
            <Cell key={figure} kind={figure} value={TableView.highest(rows, figure)} />
          ))
        ) : (
          <td class="why" colSpan={3}>
            No figures
          </td>
        )}
        {extras.map((extra) => (
          <td key={extra} class="extra" />
        ))}
      </tr>
      {isOpen.value &&
        rows
          .slice(0, pageLength)
          .map((row) => <Line key={row.place} row={row} extras={extras} isInside />)}
      {isOpen.value && hidden > 0 && (
        <tr class="inside">
          <td class="place" />
          <td colSpan={4 + extras.length}>
            <button
              type="button"
              class="quiet small"
              onClick={() => (filter.value = { ...filter.value, text: domain })}
            >
              {number(hidden)} more: filter by {domain}
            </button>
          </td>
        </tr>
      )}
    </>
  )
}

/**
 * Emphasises the host, because users look for it first. A line of the cell ends between the host's
 * labels, never inside a label.
 */
const Url = ({ url }: { readonly url: string }) => {
  const { host, rest, scheme } = Address.partsOf(url)
  return (
    <>
      {scheme !== "" && <span class="scheme">{scheme}</span>}
      <span class="host">
        {host.split(/(?<=\.)/).map((label, index) => (
          <span key={index}>
            {label}
            <wbr />
          </span>
        ))}
      </span>
      {rest !== "" && (
        <span class="rest">
          {rest.split(/(?<=[/&])/).map((part, index) => (
            <Fragment key={index}>
              {part}
              <wbr />
            </Fragment>
          ))}
        </span>
      )}
    </>
  )
}

const LinkOut = ({ url }: { readonly url: string }) => {
  const link = Address.linkOf(url)
  return link === undefined ? null : (
    <a
      class="out"
      href={link}
      target="_blank"
      rel="noreferrer"
      aria-label={`Open ${url} in a new tab`}
    >
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
  <td class={`figure ${kind} ${kind === "spamScore" ? TableView.severity(value) : ""}`}>
    {value === undefined ? (
      <span class="absent" title="The provider has no figure">
        –<span class="unseen"> none</span>
      </span>
    ) : (
      <>
        <span class="value">{figure(value)}</span>
        <span class="track" aria-hidden="true">
          <span style={{ width: `${value}%` }} />
        </span>
      </>
    )}
  </td>
)

const Filters = ({
  children,
  filter,
  found,
}: Pick<Props, "children" | "filter"> & { readonly found: number }) => {
  const { outcome, tenth, text } = filter.value
  const change = (part: Partial<TableView.Filter>) => (filter.value = { ...filter.value, ...part })
  return (
    <div class="filters">
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
          onChange={(event) => change({ outcome: outcomeOf(event.currentTarget.value) })}
        >
          {Object.entries(outcomes).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {children}
      {tenth !== undefined && (
        <button type="button" class="chip" onClick={() => change({ tenth: undefined })}>
          {figureNames[tenth.figure]} {tenth.number * 10}–{tenth.number * 10 + 10}{" "}
          <span aria-hidden="true">×</span>
          <span class="unseen">: remove this filter</span>
        </button>
      )}
      <p class="hint" role="status">
        {TableView.isEverything(filter.value)
          ? addresses(found)
          : `${number(found)} of ${addresses(results.value.total)}`}
      </p>
      <Ranges filter={filter} />
    </div>
  )
}

const Ranges = ({ filter }: Pick<Props, "filter">) => {
  const { ranges } = filter.value
  const change = (figure: TableView.Figure, part: Partial<TableView.Range>) =>
    (filter.value = {
      ...filter.value,
      ranges: { ...ranges, [figure]: { ...ranges[figure], ...part } },
    })
  return (
    <details class="ranges">
      <summary>Filter by figures{TableView.hasRanges(filter.value) && ": on"}</summary>
      <div>
        {TableView.figures.map((figure) => (
          <fieldset key={figure}>
            <legend>{figureNames[figure]}</legend>
            <Limit
              name="from"
              value={ranges[figure].from}
              onInput={(from) => change(figure, { from })}
            />
            <Limit name="to" value={ranges[figure].to} onInput={(to) => change(figure, { to })} />
          </fieldset>
        ))}
        <button
          type="button"
          class="quiet"
          aria-disabled={!TableView.hasRanges(filter.value)}
          onClick={() => (filter.value = { ...filter.value, ranges: TableView.everything.ranges })}
        >
          Clear ranges
        </button>
      </div>
    </details>
  )
}

const figureNames: Readonly<Record<TableView.Figure, string>> = {
  domainAuthority: "Domain authority",
  pageAuthority: "Page authority",
  spamScore: "Spam score",
}

const Limit = ({
  name,
  onInput,
  value,
}: {
  readonly name: string
  readonly value: number | undefined
  readonly onInput: (limit: number | undefined) => void
}) => (
  <label>
    {name}{" "}
    <input
      type="number"
      min={0}
      max={100}
      step="any"
      placeholder={name === "from" ? "0" : "100"}
      value={value ?? ""}
      onInput={({ currentTarget }) =>
        onInput(Number.isNaN(currentTarget.valueAsNumber) ? undefined : currentTarget.valueAsNumber)
      }
    />
  </label>
)

const outcomes: Readonly<Record<TableView.Filter["outcome"], string>> = {
  all: "All",
  checked: "Checked",
  failed: "Not checked",
  waiting: "Waiting",
  INVALID_URL: reasons.INVALID_URL.label,
  PROVIDER_ERROR: reasons.PROVIDER_ERROR.label,
  SERVER_ERROR: reasons.SERVER_ERROR.label,
}

const isOutcome = (name: string): name is TableView.Filter["outcome"] => name in outcomes

const outcomeOf = (name: string) => (isOutcome(name) ? name : "all")

const Pages = ({
  current,
  last,
  total,
  turnTo,
}: {
  readonly current: number
  readonly last: number
  readonly total: number
  readonly turnTo: (page: number) => void
}) => (
  <nav class="pages" aria-label="Pages of the results">
    <button type="button" aria-disabled={current === 0} onClick={() => turnTo(0)}>
      First
    </button>
    <button type="button" aria-disabled={current === 0} onClick={() => turnTo(current - 1)}>
      Previous
    </button>
    <span>
      {number(current * pageLength + 1)}–{number(Math.min(total, (current + 1) * pageLength))} of{" "}
      {number(total)}
    </span>
    <button type="button" aria-disabled={current === last} onClick={() => turnTo(current + 1)}>
      Next
    </button>
    <button type="button" aria-disabled={current === last} onClick={() => turnTo(last)}>
      Last
    </button>
  </nav>
)
