/**
 * Notices that the answers of a vendor have changed: a field is missing, or the top of an answer
 * has a field that the vendor's documentation does not name.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { Lru } from "../../check/Lru.ts"
import * as Meters from "../ProviderMeters.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"

export interface AnswerChanges {
  /** Counts a field that is missing, or that is new. */
  readonly notice: (change: Meters.Change, field: string) => void
  /** Compares the top of an answer with the fields that every answer has. */
  readonly compare: (json: unknown, fields: ReadonlyArray<string>) => void
  /** Logs the fields that were noticed, each at most once a day. */
  readonly report: Effect.Effect<void>
}

/** `quote` makes the name of a field safe to log. */
export const make = (provider: string, quote: (text: string) => string): AnswerChanges => {
  const { changedFields } = Meters.make(provider)
  const noticed = new Set<string>()
  const loggedAt = new Lru<number>(maxFields)

  const notice: AnswerChanges["notice"] = (change, field) => {
    changedFields[change](1)
    if (noticed.size < maxFields) noticed.add(`the field ${quote(field)} is ${change}`)
  }

  return {
    notice,
    compare: (json, fields) => {
      if (!Predicate.isRecord(json)) return
      for (const field in json) if (!fields.includes(field)) notice("new", field)
      for (const field of fields) if (!(field in json)) notice("missing", field)
    },
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

const dayMs = 86_400_000

/** Maximum number of fields that are remembered. */
const maxFields = 100
