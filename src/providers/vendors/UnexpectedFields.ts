/**
 * Detects changes in a vendor's answers: a field is missing, or the top level has a field that the
 * vendor's documentation does not name.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import { Lru } from "../../check/Lru.ts"
import * as Meters from "../ProviderMeters.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"

/** `quote` makes a vendor's text safe to log. */
export const make = (provider: string, quote: (text: string) => string) => {
  const { changedFields } = Meters.make(provider)
  const noticed = new Set<string>()
  const loggedAt = new Lru<number>(maxFields)

  const notice = (change: Meters.Change, field: string) => {
    changedFields[change](1)
    if (noticed.size < maxFields) noticed.add(`the field ${quote(field)} is ${change}`)
  }

  return {
    /** Describes the first field that does not match its schema. Records it if it is missing. */
    misfit: (issue: ParseResult.ParseIssue): string => {
      const [first] = Option.getOrElse(formatted(issue), () => [])
      if (first === undefined || first.path.length === 0) {
        return "it is not an object of the known form"
      }
      const field = `the field ${first.path.map(String).join(".")}`
      if (first._tag !== "Missing") return quote(`${field}: ${first.message}`)
      // Leave out the positions in lists, so that a field is reported once.
      notice("missing", first.path.filter(Predicate.isString).join("."))
      return quote(`${field} is missing`)
    },

    /** Compares an answer's top-level fields with those that every answer has. */
    compare: (json: unknown, fields: ReadonlyArray<string>) => {
      if (!Predicate.isRecord(json)) return
      for (const field in json) if (!fields.includes(field)) notice("new", field)
      for (const field of fields) if (!(field in json)) notice("missing", field)
    },

    /** Logs the recorded fields, each at most once a day. */
    report: Effect.suspend(() => {
      if (noticed.size === 0) return Effect.void
      const changes = [...noticed]
      noticed.clear()
      return Effect.flatMap(MonotonicClock.now, (now) => {
        const due = changes.filter((change) => now - (loggedAt.get(change) ?? -dayMs) >= dayMs)
        for (const change of due) loggedAt.set(change, now)
        return due.length === 0
          ? Effect.void
          : Effect.logWarning(
              "The provider's answers have changed. To see whether its figures can still be read, run 'authority provider status --live'.",
              `${provider}: ${due.join(", ")}`,
            )
      })
    }),
  }
}

// The framework's formatter overflows the stack on a deeply nested value.
const formatted = Option.liftThrowable(ParseResult.ArrayFormatter.formatIssueSync)

const dayMs = 86_400_000

const maxFields = 100
