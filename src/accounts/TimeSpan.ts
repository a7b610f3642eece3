import * as Duration from "effect/Duration"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const isUnit = (unit: string): unit is keyof typeof unitMs => unit in unitMs

/** The latest time that a `Date` can hold, in epoch milliseconds. */
export const latestTime = 8_640_000_000_000_000

// Ten years. Without a limit, adding a time span to the present could exceed `latestTime`.
const maxMs = 3650 * unitMs.d
const expected = "expected a length of time such as 500ms, 10s, 5m, 24h or 90d, at most 3650d"

/**
 * A duration as people type it: a whole number and a unit, such as `500ms`, `10s`, `5m`, `24h` or
 * `90d`, up to 3,650 days.
 */
export const TimeSpan = Schema.transformOrFail(Schema.String, Schema.DurationFromSelf, {
  strict: true,
  decode: (text, _, ast) => {
    const [, amount = "", unit = ""] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? []
    const ms = isUnit(unit) ? Number(amount) * unitMs[unit] : Number.NaN
    return ms <= maxMs
      ? ParseResult.succeed(Duration.millis(ms))
      : ParseResult.fail(new ParseResult.Type(ast, text, expected))
  },
  encode: (duration) => ParseResult.succeed(`${Duration.toMillis(duration)}ms`),
})

export const Lifetime = TimeSpan.pipe(
  Schema.filter((duration) => Duration.greaterThan(duration, Duration.zero), {
    message: () => `${expected}, and longer than 0`,
  }),
)

/** Writes a time in epoch milliseconds as ISO 8601, at most `latestTime`; null stays null. */
export function isoTime(epochMs: number): string
export function isoTime(epochMs: number | null): string | null
export function isoTime(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(Math.min(epochMs, latestTime)).toISOString()
}
