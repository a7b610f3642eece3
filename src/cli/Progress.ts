/** A line on the terminal that tells how far a long task is; nothing where nobody watches. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface Progress {
  /** `done` of `total` in whatever unit, and how many rows that was. */
  readonly show: (done: number, total: number, rows: number) => Effect.Effect<void>
}

/** The line goes away with the scope. */
export const make = Effect.gen(function* () {
  const { stderr } = process
  if (!stderr.isTTY) return { show: () => Effect.void } satisfies Progress
  const startedAt = yield* Clock.currentTimeMillis
  let shownAt = 0
  yield* Effect.addFinalizer(() => Effect.sync(() => stderr.write(eraseLine)))

  const show: Progress["show"] = (done, total, rows) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (now - shownAt < intervalMs) return
      shownAt = now
      const seconds = Math.max(0.001, (now - startedAt) / 1000)
      const share = Math.min(1, done / Math.max(1, total))
      const bar = "█".repeat(Math.round(share * barWidth)).padEnd(barWidth, "░")
      const left = share > 0 ? `${Math.ceil((seconds / share) * (1 - share))} s left` : ""
      const rate = Math.round(rows / seconds)
      stderr.write(
        `${eraseLine}${bar} ${rows.toLocaleString("en")} rows, ${rate.toLocaleString("en")}/s, ${left}`,
      )
    })

  return { show } satisfies Progress
})

const barWidth = 30

const intervalMs = 100

const eraseLine = "\r\u001b[2K"
