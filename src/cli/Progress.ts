/** Shows the progress of a long task on stderr: one changing line on a terminal, else new lines. */
import * as Effect from "effect/Effect"
import { printable } from "../check/printable.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"

export interface Progress {
  /** Shows the progress. `share` is the finished part of the task, from 0 to 1. */
  readonly show: (share: number, rows: number, details?: string) => Effect.Effect<void>
  /** Erases the progress line, and immediately prints `text` on a separate line. */
  readonly report: (text: string) => Effect.Effect<void>
  /** Erases the progress line until the next `show`. */
  readonly clear: Effect.Effect<void>
}

interface Options {
  /** The unit of the row count, for example `URLs`. */
  readonly unit: string
  /** Whether to print a line every ten seconds when stderr is not a terminal. */
  readonly isLogged: boolean
  /** Whether to draw the line on a terminal. False for a task that prints its results there. */
  readonly isDrawn: boolean
}

/** Creates a progress line. Closing the scope erases the line. */
export const make = ({ isDrawn, isLogged, unit }: Options) =>
  Effect.gen(function* () {
    const { stderr } = process
    const isTerminal = stderr.isTTY
    let shownAt = isTerminal ? 0 : yield* MonotonicClock.now
    // The speed counts from the first `show`, because what was known at the start took no time.
    let first: Sample | undefined
    const erase = () => (isTerminal && isDrawn ? stderr.write(eraseLine) : true)
    const clear = Effect.sync(erase)
    yield* Effect.addFinalizer(() => clear)

    const show: Progress["show"] = (share, rows, details) =>
      Effect.map(MonotonicClock.now, (now) => {
        first ??= { at: now, share, rows }
        if (now - shownAt < (isTerminal ? drawnMs : loggedMs)) return
        shownAt = now
        const seconds = Math.max(0.001, (now - first.at) / 1000)
        const facts = [
          `${Math.floor(share * 100)} %`,
          `${rows.toLocaleString("en")} ${unit}`,
          ...(details === undefined ? [] : [details]),
          `${Math.round((rows - first.rows) / seconds).toLocaleString("en")} ${unit}/s`,
          timeLeft(1 - share, (share - first.share) / seconds),
        ].join(", ")
        // A line that wraps cannot be erased.
        const fitting = facts.slice(0, (stderr.columns || 80) - 1)
        if (isTerminal && isDrawn) stderr.write(`${eraseLine}${fitting}`)
        else if (!isTerminal && isLogged) stderr.write(`${facts}\n`)
      })

    const report: Progress["report"] = (text) =>
      Effect.sync(() => {
        erase()
        // An untrusted server may have written part of the text.
        stderr.write(`${printable(text)}\n`)
      })

    return { show, report, clear } satisfies Progress
  })

interface Sample {
  readonly at: number
  readonly share: number
  readonly rows: number
}

const timeLeft = (share: number, sharePerSecond: number) => {
  if (sharePerSecond <= 0) return "waiting"
  const seconds = Math.ceil(share / sharePerSecond)
  return seconds < 100 ? `${seconds} s left` : `${Math.round(seconds / 60)} min left`
}

const drawnMs = 100
const loggedMs = 10_000

const eraseLine = "\r\u001b[2K"
