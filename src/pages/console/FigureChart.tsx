/** The history of an address: its figures over time as a chart and as a table. */
import { signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { Observation } from "../../client/PromiseClient.ts"
import { counted } from "../../contract/counted.ts"
import { maxRows } from "../../contract/Limits.ts"
import { client, currentKey, keyProblem } from "../Account.ts"
import { type Column, num, Table, text, when } from "../Table.tsx"
import { figure } from "../Texts.ts"
import { results } from "./ConsoleState.ts"
import * as HistoryLines from "./HistoryLines.ts"

/** The URL whose history is shown. */
const openUrl = signal<string | undefined>(undefined)

export const HistoryButton = ({ url }: { readonly url: string }) => (
  <button
    type="button"
    title="History"
    aria-label={`History of ${url}`}
    onClick={() => (openUrl.value = url)}
  >
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2.500 2.500v11h11M5 10.500l3-3.500 2.500 2 3-4.500" />
    </svg>
  </button>
)

/** Shows the history of the URL that the user chose, above the page. */
export const FigureChart = () =>
  openUrl.value === undefined ? null : <Dialog key={openUrl.value} url={openUrl.value} />

/** Returns the observations of a URL, or why they could not be read. */
const ask = async (
  url: string,
  signal: AbortSignal,
): Promise<ReadonlyArray<Observation> | string> => {
  const apiKey = await currentKey()
  if (apiKey === undefined) return `The history needs a key. ${keyProblem.value ?? ""}`
  const outcomes = results.value.rows.flatMap(({ outcome, url: own }) =>
    own === url && outcome !== undefined ? outcome : [],
  )
  return client({ apiKey, timeoutMs: 20_000, patienceMs: 0 })
    .history(url, { limit: maxRows, signal })
    .then(
      ({ observations }) => HistoryLines.withOwn(observations, outcomes),
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
}

const Dialog = ({ url }: { readonly url: string }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const answer = useSignal<ReadonlyArray<Observation> | string | undefined>(undefined)
  useEffect(() => {
    const leaving = new AbortController()
    dialog.current?.showModal()
    void ask(url, leaving.signal).then((found) => {
      if (!leaving.signal.aborted) answer.value = found
    })
    return () => leaving.abort()
  }, [])
  const found = answer.value
  const observations = typeof found === "object" ? found : []
  return (
    <dialog
      class="card history"
      ref={dialog}
      aria-labelledby="history-title"
      onClose={() => (openUrl.value = undefined)}
    >
      <div class="line">
        <h2 id="history-title">History of {url}</h2>
        <button type="button" class="small" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <div role="status">
        {typeof found === "string" ? (
          <p class="problem">{found}</p>
        ) : (
          <p class="hint">
            {found === undefined
              ? "Asking the service…"
              : found.length === 0
                ? "The service has no history of it yet."
                : counted(found.length, "observation")}
          </p>
        )}
      </div>
      {observations.length > 0 && <Found lines={HistoryLines.linesOf(observations)} />}
    </dialog>
  )
}

interface FoundProps {
  readonly lines: ReadonlyArray<HistoryLines.Line>
}

const Found = ({ lines }: FoundProps) => (
  <>
    <ul class="legend">
      {lines.map(({ provider }, place) => (
        <li key={provider}>
          <svg class={classOf(place)} viewBox="0 0 28 8" aria-hidden="true">
            <path class="stroke" d="M0 4h28" />
          </svg>
          {provider}
        </li>
      ))}
    </ul>
    <Plot lines={lines} of="domainAuthority" name="Domain authority" />
    <Plot lines={lines} of="pageAuthority" name="Page authority" />
    <p class="hint">
      An upright mark shows where the provider's index changed; a figure may then change although
      the site did not.
    </p>
    <Table
      title="Newest first"
      file="history"
      empty=""
      rows={lines.flatMap(({ points }) => points).sort((a, b) => b.from - a.from)}
      keyOf={({ fetchedAt, provider }) => `${fetchedAt} ${provider}`}
      columns={columns}
    />
  </>
)

const columns: ReadonlyArray<Column<HistoryLines.Point>> = [
  when("From", ({ fetchedAt }) => fetchedAt),
  when("Until", ({ lastFetchedAt }) => lastFetchedAt),
  text("Provider", ({ provider }) => provider),
  num("DA", ({ domainAuthority }) => domainAuthority),
  num("PA", ({ pageAuthority }) => pageAuthority),
  text("Index", ({ formerIndex, index }) =>
    formerIndex === undefined ? index : `${index} (was ${formerIndex})`,
  ),
]

/** The style classes of the lines, which repeat after the fourth line. */
const classOf = (place: number) => `provider-${place % 4}`

interface PlotProps extends FoundProps {
  readonly of: "domainAuthority" | "pageAuthority"
  readonly name: string
}

const Plot = ({ lines, name, of }: PlotProps) => {
  const points = lines.flatMap(({ points }) => points)
  const ends = points.flatMap(({ from, to }) => [from, to])
  const times = { low: Math.min(...ends), high: Math.max(...ends) }
  const range = HistoryLines.tensAround(points.map((point) => point[of]))
  const x = (at: number) => HistoryLines.positionIn(times, at)
  const y = (value: number) => 100 - HistoryLines.positionIn(range, value)
  const dates = new Set([times.low, (times.low + times.high) / 2, times.high].map(dayOf))
  return (
    <figure class="past">
      <figcaption>{name}</figcaption>
      <div class="scale" aria-hidden="true">
        <span>{range.high}</span>
        <span>{range.low}</span>
      </div>
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} over time. The table below has the same figures.`}
      >
        {lines.map(({ points, provider }, number) => (
          <g key={provider} class={classOf(number)}>
            <path
              class="stroke"
              d={`M${points.map(({ from, to, [of]: value }) => `${x(from)} ${y(value)}L${x(to)} ${y(value)}`).join("L")}`}
            />
            {points.map(({ formerIndex, from, index, [of]: value }) => (
              <g key={from}>
                <title>
                  {`${provider}, ${dayOf(from)}: ${figure(value)}` +
                    (formerIndex === undefined ? "" : `, index ${formerIndex} → ${index}`)}
                </title>
                {formerIndex !== undefined && (
                  <path class="change" d={`M${x(from)} ${y(value) - 12}v24`} />
                )}
                {/* A line without a length stays round when the plot is stretched. */}
                <path class="point" d={`M${x(from)} ${y(value)}h0`} />
              </g>
            ))}
          </g>
        ))}
      </svg>
      <div class="dates" aria-hidden="true">
        {[...dates].map((date) => (
          <span key={date}>{date}</span>
        ))}
      </div>
    </figure>
  )
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)
