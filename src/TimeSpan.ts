import * as Duration from "effect/Duration"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const isUnit = (unit: string): unit is keyof typeof unitMs => unit in unitMs

/** A length of time as people type it: a whole number and a unit, `500ms`, `10s`, `5m`, `24h`, `90d`. */
export const TimeSpan = Schema.transformOrFail(Schema.String, Schema.DurationFromSelf, {
  strict: true,
  decode: (text, _, ast) => {
    const [, amount = "", unit = ""] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
    return isUnit(unit)
      ? ParseResult.succeed(Duration.millis(Number(amount) * unitMs[unit]))
      : ParseResult.fail(
          new ParseResult.Type(
            ast,
            text,
            "expected a length of time such as 500ms, 10s, 5m, 24h or 90d",
          ),
        )
  },
  encode: (duration) => ParseResult.succeed(`${Duration.toMillis(duration)}ms`),
})
