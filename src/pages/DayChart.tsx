/**
 * A column chart by UTC day. It shows the figures of the day under the pointer, or of the day
 * chosen with the arrow keys.
 */
import { useSignal } from "@preact/signals"
import type { UsageRow } from "../contract/Wire.ts"
import { number } from "./Texts.ts"

interface Series {
  readonly name: string
  /** The name of the colour. */
  readonly tone: string
  /** Null if the figure is not known. */
  readonly values: ReadonlyArray<number | null>
}

/** Series that are stacked; a negative figure hangs below the line. */
export interface Panel {
  readonly name: string
  readonly series: ReadonlyArray<Series>
  readonly format: (n: number) => string
  readonly tick: (n: number) => string
  /** The scale reaches at least this value. */
  readonly least: number
}

export const creditPanel = (values: ReadonlyArray<number>): Panel => ({
  name: "Credits charged",
  series: [{ name: "Credits charged", tone: "credits", values }],
  format: number,
  tick: short,
  least: 4,
})

const compact = new Intl.NumberFormat("en", { notation: "compact" })
const short = (n: number) => compact.format(n)

interface Props {
  readonly label: string
  readonly days: ReadonlyArray<string>
  readonly panels: ReadonlyArray<Panel>
}

const dates = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })
const dateOf = (day = "") => (day === "" ? "" : dates.format(new Date(day)))

export const DayChart = ({ days, label, panels }: Props) => {
  const chosen = useSignal<number | undefined>(undefined)
  const day = chosen.value
  const last = days.length - 1
  const figures = panels.flatMap(({ format, series }) =>
    series.map(({ name, tone, values }) => {
      const value =
        day === undefined
          ? values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
          : (values[day] ?? null)
      return { name, tone, text: value === null ? "–" : format(value) }
    }),
  )
  const period =
    day === undefined
      ? `${dateOf(days[0])} to ${dateOf(days[last])}`
      : `${dateOf(days[day])}${day === last ? ", so far" : ""}`
  const point = (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    chosen.value = clamp(Math.floor(((event.clientX - left) / width) * days.length), last)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -last, End: last }[event.key]
    if (step === undefined) return
    event.preventDefault()
    chosen.value = clamp((day ?? (step < 0 ? last + 1 : -1)) + step, last)
  }
  return (
    <div class="daychart">
      <div class="figures">
        <strong>{period}</strong>
        {figures.map(({ name, text, tone }) => (
          <span key={name}>
            <i class={`dot ${tone}`} />
            {name} <b>{text}</b>
          </span>
        ))}
      </div>
      <div
        class="plots"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={day ?? last}
        aria-valuetext={`${period}: ${figures.map(({ name, text }) => `${name} ${text}`).join(", ")}`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => (chosen.value = undefined)}
        onKeyDown={press}
        onBlur={() => (chosen.value = undefined)}
      >
        {panels.map((panel) => (
          <Plot key={panel.name} panel={panel} chosen={day} count={days.length} />
        ))}
      </div>
      <div class="dates" aria-hidden="true">
        {days.map((day, i) => (
          <span key={day}>{(last - i) % 7 === 0 && <span>{dateOf(day)}</span>}</span>
        ))}
      </div>
    </div>
  )
}

const clamp = (n: number, last: number) => Math.max(0, Math.min(last, n))

interface PlotProps {
  readonly panel: Panel
  readonly chosen: number | undefined
  readonly count: number
}

const Plot = ({ chosen, count, panel }: PlotProps) => {
  const { least, name, series, tick } = panel
  const columns = Array.from({ length: count }, (_, day) =>
    series.map(({ tone, values }) => ({ tone, value: values[day] ?? 0 })),
  )
  const sumOf = (sign: 1 | -1) =>
    Math.max(
      ...columns.map((parts) =>
        parts.reduce((sum, { value }) => sum + Math.max(0, sign * value), 0),
      ),
    )
  const ticks = ticksOf(-sumOf(-1), Math.max(least, sumOf(1)))
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)]
  const percent = (n: number) => `${(n / (high - low)) * 100}%`
  return (
    <div class="plot" aria-hidden="true">
      <span class="name">{name}</span>
      {ticks.map((at) => (
        <span
          key={at}
          class={at === 0 ? "grid zero" : "grid"}
          style={{ bottom: percent(at - low) }}
        >
          <span>{tick(at)}</span>
        </span>
      ))}
      {columns.map((parts, day) => {
        let above = -low
        return (
          <span key={day} class={day === chosen ? "daycol chosen" : "daycol"}>
            {parts.map(({ tone, value }) => {
              const bottom = value < 0 ? value - low : above
              above += Math.max(0, value)
              return (
                <i
                  key={tone}
                  class={value < 0 ? "loss" : tone}
                  style={{ bottom: percent(bottom), height: percent(Math.abs(value)) }}
                />
              )
            })}
          </span>
        )
      })}
    </div>
  )
}

/** Round numbers from the lowest to the highest, zero among them. */
const ticksOf = (low: number, high: number): ReadonlyArray<number> => {
  const wanted = (high - low) / 3
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = [1, 2, 2.5, 5].map((n) => n * power).find((n) => n >= wanted) ?? 10 * power
  const first = Math.floor(low / step)
  return Array.from({ length: Math.ceil(high / step) - first + 1 }, (_, i) => (first + i) * step)
}

/** The UTC day `days` days ago. */
export const daysAgo = (days: number) =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** A chart of the credits charged in the last 30 UTC days. Days without use may lack rows. */
export const UsageChart = ({ rows }: { readonly rows: ReadonlyArray<UsageRow> }) => {
  const days = Array.from({ length: 30 }, (_, i) => daysAgo(29 - i))
  const used = new Map(rows.map(({ credits, day }) => [day, credits]))
  const panel = creditPanel(days.map((day) => used.get(day) ?? 0))
  return <DayChart label="Credits by UTC day" days={days} panels={[panel]} />
}
