import { signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { Observation } from "../../client/PromiseClient.ts"
import { counted } from "../../contract/counted.ts"
import { client, currentKey, keyProblem } from "../Account.ts"
import * as FigureLines from "./FigureLines.ts"
import { results } from "./ConsoleState.ts"
import { figure } from "../Texts.ts"

/** The URL whose history is open. */
const openUrl = signal<string | undefined>(undefined)

/** Opens the history of a URL. */
export const HistoryButton = ({ url }: { readonly url: string }) => (
  <button
    type="button"
    class="past-of"
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

type Answer = ReadonlyArray<Observation> | { readonly problem: string }

/** The service's maximum. */
const limit = 1000

const ask = async (url: string, signal: AbortSignal): Promise<Answer> => {
  const apiKey = await currentKey()
  if (apiKey === undefined) {
    return { problem: `The history needs a key. ${keyProblem.value ?? "Enter a key first."}` }
  }
  const asked = client({ apiKey, timeoutMs: 20_000, patienceMs: 0 })
  return asked.history(url, { limit, signal }).then(
    ({ observations }) => FigureLines.withOwn(observations, outcomesOf(url)),
    (error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }),
  )
}

/** The outcomes of a URL in the list that is shown. */
const outcomesOf = (url: string) =>
  results.value.rows.flatMap(({ outcome, url: own }) =>
    own === url && outcome !== undefined ? outcome : [],
  )

const Dialog = ({ url }: { readonly url: string }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const answer = useSignal<Answer | undefined>(undefined)
  useEffect(() => {
    const leaving = new AbortController()
    dialog.current?.showModal()
    void ask(url, leaving.signal).then((found) => {
      if (!leaving.signal.aborted) answer.value = found
    })
    return () => leaving.abort()
  }, [])
  const observations =
    answer.value !== undefined && "length" in answer.value ? answer.value : undefined
  return (
    <dialog
      class="card past-figures"
      ref={dialog}
      aria-labelledby="figures-title"
      onClose={() => (openUrl.value = undefined)}
    >
      <div class="line">
        <h2 id="figures-title">History of {url}</h2>
        <button type="button" class="small" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <div role="status">
        {answer.value === undefined && <p class="hint">Asking the service…</p>}
        {answer.value !== undefined && "problem" in answer.value && (
          <p class="problem">{answer.value.problem}</p>
        )}
        {observations !== undefined && (
          <p class="hint">
            {observations.length === 0
              ? "The service has no history of it yet."
              : counted(observations.length, "observation")}
          </p>
        )}
      </div>
      {observations !== undefined && observations.length > 0 && (
        <Found observations={observations} />
      )}
    </dialog>
  )
}

const Found = ({ observations }: { readonly observations: ReadonlyArray<Observation> }) => {
  const lines = FigureLines.linesOf(observations)
  return (
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
      <Figures lines={lines} />
    </>
  )
}

/** The looks of lines, which repeat after the fourth one. */
const classOf = (place: number) => `provider-${place % 4}`

type Figure = "domainAuthority" | "pageAuthority"

const Plot = ({
  lines,
  name,
  of,
}: {
  readonly lines: ReadonlyArray<FigureLines.Line>
  readonly of: Figure
  readonly name: string
}) => {
  const times = FigureLines.timesOf(lines)
  const range = FigureLines.tensAround(
    lines.flatMap(({ points }) => points.map(({ observation }) => observation[of])),
  )
  const place: Place = (at, value) => ({
    x: FigureLines.positionIn(times, at),
    y: 100 - FigureLines.positionIn(range, value),
  })
  const dates = [...new Set([times.low, (times.low + times.high) / 2, times.high].map(dayOf))]
  return (
    <figure class="past-plot">
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
        {lines.map((line, number) => (
          <g key={line.provider} class={classOf(number)}>
            <Drawn line={line} of={of} place={place} />
          </g>
        ))}
      </svg>
      <div class="past-dates" aria-hidden="true">
        {dates.map((date) => (
          <span key={date}>{date}</span>
        ))}
      </div>
    </figure>
  )
}

/** Returns the position of a value on a plot. */
type Place = (at: number, value: number) => { readonly x: number; readonly y: number }

const Drawn = ({
  line: { points },
  of,
  place,
}: {
  readonly line: FigureLines.Line
  readonly of: Figure
  readonly place: Place
}) => {
  const drawn = points.map((point) => {
    const value = point.observation[of]
    return { point, value, start: place(point.from, value), end: place(point.to, value) }
  })
  const path = drawn.map(({ end, start }) => `${start.x} ${start.y}L${end.x} ${end.y}`).join("L")
  return (
    <>
      <path class="stroke" d={`M${path}`} />
      {drawn.map(({ point: { formerIndex, observation }, start, value }, number) => (
        <g key={number}>
          <title>
            {`${observation.provider}, ${dayOf(observation.fetchedAt)}: ${figure(value)}` +
              (formerIndex === undefined ? "" : `, index ${formerIndex} → ${observation.index}`)}
          </title>
          {formerIndex !== undefined && (
            <path class="change" d={`M${start.x} ${start.y - 12}V${start.y + 12}`} />
          )}
          {/* A line without a length stays round when the plot is stretched. */}
          <path class="point" d={`M${start.x} ${start.y}h0`} />
        </g>
      ))}
    </>
  )
}

const dayOf = (time: string | number) => new Date(time).toISOString().slice(0, 10)

/** The figures of the plots as text, newest first. */
const Figures = ({ lines }: { readonly lines: ReadonlyArray<FigureLines.Line> }) => (
  <div class="sample" role="region" aria-label="The figures as a table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {["Date", "Until", "Provider", "DA", "PA", "Index"].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines
          .flatMap(({ points }) => points)
          .sort((a, b) => b.from - a.from)
          .map(({ formerIndex, observation }, number) => (
            <tr key={number}>
              <td>{dayOf(observation.fetchedAt)}</td>
              <td>{dayOf(observation.lastFetchedAt)}</td>
              <td>{observation.provider}</td>
              <td>{figure(observation.domainAuthority)}</td>
              <td>{figure(observation.pageAuthority)}</td>
              <td>
                {observation.index ?? "not named"}
                {formerIndex !== undefined && ` (was ${formerIndex})`}
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  </div>
)
