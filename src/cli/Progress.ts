/**
 * Shows the progress of a long task on stderr: one changing line on a terminal, separate lines
 * elsewhere.
 */
import * as Effect from "effect/Effect"
import { printable } from "../check/printable.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"

export interface Progress {
  /**
   * Shows the progress. `share` is the finished part of the task, from 0 to 1. Changes the line at
   * most every 100 ms on a terminal; elsewhere prints a line at most every 10 seconds.
   */
  readonly show: (share: number | undefined, rows: number, details?: string) => Effect.Effect<void>
  /** Erases the progress line, and prints `text` on a line of its own without delay. */
  readonly report: (text: string) => Effect.Effect<void>
  /** Erases the progress line until the next `show`. */
  readonly clear: Effect.Effect<void>
}

interface Options {
  /** The unit of the row count, for example `URLs`. */
  readonly unit: string
  /** When stderr is not a terminal: true prints a line every ten seconds, false prints nothing. */
  readonly isLogged: boolean
  /**
   * True draws the progress line when stderr is a terminal. False draws nothing: for a task that
   * prints its results on the same terminal.
   */
  readonly isDrawn: boolean
}

/** Creates a progress line. Closing the scope erases the line. */
export const make = ({ isDrawn, isLogged, unit }: Options) =>
  Effect.gen(function* () {
    const { stderr } = process
    const isTerminal = stderr.isTTY
    const samples: Array<Sample> = [{ at: yield* MonotonicClock.now, share: 0, rows: 0 }]
    let shownAt = isTerminal ? 0 : (samples[0]?.at ?? 0)
    const erase = () => (isTerminal && isDrawn ? stderr.write(eraseLine) : true)
    const clear = Effect.sync(erase)
    yield* Effect.addFinalizer(() => clear)

    const show: Progress["show"] = (share, rows, details) =>
      Effect.map(MonotonicClock.now, (now) => {
        if (now - shownAt < (isTerminal ? drawnMs : loggedMs)) return
        shownAt = now
        remember(samples, { at: now, share: share ?? 0, rows })
        const facts = [
          ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`]),
          `${rows.toLocaleString("en")} ${unit}`,
          ...(details === undefined ? [] : [details]),
          pace(samples, unit),
          ...(share === undefined ? [] : [timeLeft(samples)]),
        ].join(", ")
        if (isTerminal && isDrawn) stderr.write(`${eraseLine}${drawn(share, facts)}`)
        else if (!isTerminal && isLogged) stderr.write(`${facts}\n`)
      })

    const report: Progress["report"] = (text) =>
      Effect.sync(() => {
        erase()
        // A server that nobody vouches for may have written a part of the text.
        stderr.write(`${printable(text)}\n`)
      })

    return { show, report, clear } satisfies Progress
  })

interface Sample {
  readonly at: number
  readonly share: number
  readonly rows: number
}

// Keeps the samples of the last 30 seconds, to compute the speed. Rows from the journal come faster
// than rows from the service, and would make an average over the whole run too high.
const remember = (samples: Array<Sample>, sample: Sample) => {
  samples.push(sample)
  while (samples.length > 2 && sample.at - (samples[1]?.at ?? 0) > paceMs) samples.shift()
}

const passed = (samples: ReadonlyArray<Sample>) => {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) return { seconds: 1, share: 0, rows: 0, left: 1 }
  return {
    seconds: Math.max(0.001, (last.at - first.at) / 1000),
    share: last.share - first.share,
    rows: last.rows - first.rows,
    left: 1 - last.share,
  }
}

const pace = (samples: ReadonlyArray<Sample>, unit: string) => {
  const { rows, seconds } = passed(samples)
  return `${Math.round(rows / seconds).toLocaleString("en")} ${unit}/s`
}

const timeLeft = (samples: ReadonlyArray<Sample>) => {
  const { left, seconds, share } = passed(samples)
  return share > 0 ? `${duration(Math.ceil((seconds / share) * left))} left` : "waiting"
}

const duration = (seconds: number) =>
  seconds < 100
    ? `${seconds} s`
    : seconds < 6000
      ? `${Math.round(seconds / 60)} min`
      : `${Math.round(seconds / 3600)} h`

/** Fits the bar into the terminal's width, because a wrapped line cannot be erased. */
const drawn = (share: number | undefined, facts: string) => {
  const columns = process.stderr.columns || 80
  const width = Math.min(longestBar, columns - facts.length - 2)
  if (share === undefined || width < shortestBar) return facts.slice(0, columns - 1)
  return `${"█".repeat(Math.round(Math.min(1, share) * width)).padEnd(width, "░")} ${facts}`
}

const longestBar = 30
const shortestBar = 5

const drawnMs = 100
const loggedMs = 10_000
const paceMs = 30_000

const eraseLine = "\r\u001b[2K"
