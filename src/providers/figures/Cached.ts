/**
 * Caches a vendor's figures: the most recently used in memory, and all of them in a store that
 * processes share. Failures are not cached. `reading` and `saving` are separate layers; see
 * `Composed`.
 */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Lru } from "../../check/Lru.ts"
import { checkedFrom, missing, type Outcome } from "../../check/Metrics.ts"
import { type Figures, MetricsCache } from "./MetricsCache.ts"
import { inTime, tolerant } from "../logOnce.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../../check/Target.ts"
import * as Meters from "../ProviderMeters.ts"
import * as FigureWriter from "./FigureWriter.ts"
import type { Vendor } from "../Vendor.ts"

type Provider = MetricsProvider["Type"]

export interface Options {
  /** How long figures stay valid after the vendor's answer. Zero turns the cache off. */
  readonly ttl: Duration.Duration
  /** Figures younger than this are not bought again, whatever age the client accepts; default 0. */
  readonly minAge?: Duration.DurationInput
  /** How long expired figures may still be returned when the vendor fails; default 0. */
  readonly staleIfError?: Duration.DurationInput
  /** How long observations are kept; default 0, which keeps none. */
  readonly history?: Duration.DurationInput
  /**
   * Maximum number of pages whose figures are in memory, per provider. A page with a long address
   * counts as several pages; see `Lru`.
   */
  readonly capacity: number
}

export interface Cached {
  /** Returns a provider that reads from the cache first, and asks `inner` only for cache misses. */
  readonly reading: (inner: Provider) => Provider
  readonly saving: (vendor: Vendor["Type"]) => Vendor["Type"]
}

const readTimeout = "1 second"

/** Makes the cache of one provider. It writes the queued figures when the scope closes. */
export const make = (
  provider: string,
  options: Options,
): Effect.Effect<Cached, never, MetricsCache | Scope.Scope> =>
  Effect.gen(function* () {
    if (Duration.isZero(options.ttl)) return { reading: identity, saving: identity }
    const ttlMs = Duration.toMillis(options.ttl)
    const minAgeMs = Duration.toMillis(options.minAge ?? 0)
    const staleMs = Duration.toMillis(options.staleIfError ?? 0)
    const historyMs = Duration.toMillis(options.history ?? 0)
    const store = yield* MetricsCache
    const clock = yield* Effect.clock
    const memory = new Lru<Kept>(options.capacity)
    const meters = Meters.make(provider)
    const write = yield* FigureWriter.make(store, Math.max(ttlMs + staleMs, historyMs))
    const found = tolerant(warnOfReads)

    /** Returns the figures of a page from memory if they were fetched after `since`. */
    const recall = (page: string, since: number): Outcome | undefined => {
      const kept = memory.get(page)
      return kept !== undefined && kept.fetchedAt > since ? kept : undefined
    }

    const learn = (figures: Figures): Outcome => {
      const { metrics, page } = figures
      const outcome: Kept = { _tag: "Checked", metrics, source: "known", ...originOf(figures) }
      memory.set(page, outcome)
      return outcome
    }

    const accepted = (maxAgeMs: number) => Math.min(ttlMs, Math.max(maxAgeMs, minAgeMs))

    /** Returns the stored figures fetched after `since`; none if the store fails or is slow. */
    const read = (pages: Arr.NonEmptyReadonlyArray<string>, since: number) =>
      Effect.map(
        found(inTime(store.get(provider, pages, since), readTimeout)),
        (figures) => new Map(Option.getOrElse(figures, () => []).map((one) => [one.page, one])),
      )

    /** Finds figures in memory, or else in the store; undefined for a cache miss. */
    const find = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, maxAgeMs: number) {
      const since = (yield* Clock.currentTimeMillis) - accepted(maxAgeMs)
      const known = targets.map(({ page }) => recall(page, since))
      const pages = targets.flatMap(({ page }, i) => (known[i] === undefined ? [page] : []))
      if (!Arr.isNonEmptyArray(pages)) return known
      const stored = yield* read(pages, since)
      return targets.map(({ page }, i) => {
        // Figures that a call fetched during the read are newer than those that the read found.
        const outcome = known[i] ?? recall(page, since)
        const found = outcome === undefined ? stored.get(page) : undefined
        return found === undefined ? outcome : learn(found)
      })
    })

    /** Replaces the vendor's failures with expired figures. */
    const staleIfFailed = Effect.fnUntraced(function* (
      targets: ReadonlyArray<Target>,
      outcomes: ReadonlyArray<Outcome>,
    ) {
      const pages = targets.flatMap(({ page }, i) => (hasFailed(outcomes[i]) ? [page] : []))
      if (staleMs === 0 || !Arr.isNonEmptyArray(pages)) return outcomes
      const stored = yield* read(pages, (yield* Clock.currentTimeMillis) - ttlMs - staleMs)
      return outcomes.map((outcome, i) => {
        const found = hasFailed(outcome) ? stored.get(targets[i]?.page ?? "") : undefined
        return found === undefined
          ? outcome
          : checkedFrom(found.metrics, { ...originOf(found), source: "stale" })
      })
    })

    return {
      reading: (inner) => ({
        ...inner,
        known: (targets) =>
          Effect.sync(() => {
            const since = clock.unsafeCurrentTimeMillis() - ttlMs
            const outcomes: Array<Outcome> = []
            for (const { page } of targets) {
              const outcome = recall(page, since)
              if (outcome === undefined) return Option.none()
              outcomes.push(outcome)
            }
            meters.cacheHits(outcomes.length)
            return Option.some(outcomes)
          }),
        prospects: Effect.fnUntraced(function* (targets, maxAgeMs = Number.POSITIVE_INFINITY) {
          const found = yield* find(targets, maxAgeMs)
          const open = targets.filter((_, i) => found[i] === undefined)
          if (!Arr.isNonEmptyArray(open)) return found.map(() => "known" as const)
          const given = (yield* inner.prospects(open, maxAgeMs))[Symbol.iterator]()
          return found.map((outcome) =>
            outcome === undefined ? (given.next().value ?? "asked") : "known",
          )
        }),
        lookup: Effect.fnUntraced(function* (targets, context) {
          const found = yield* find(targets, context.maxAgeMs)
          const missed = targets.filter((_, i) => found[i] === undefined)
          meters.cacheHits(targets.length - missed.length)
          if (!Arr.isNonEmptyArray(missed)) return found.map((outcome) => outcome ?? missing)
          meters.cacheMisses(missed.length)
          const given = (yield* inner.lookup(missed, context))[Symbol.iterator]()
          const outcomes = found.map((outcome) => outcome ?? given.next().value ?? missing)
          return yield* staleIfFailed(targets, outcomes)
        }),
      }),

      saving: (vendor) => ({
        ...vendor,
        call: Effect.fnUntraced(function* (targets, context) {
          const answer = yield* vendor.call(targets, context)
          const fetchedAt = yield* Clock.currentTimeMillis
          const bought = answer.outcomes.flatMap((outcome, i): ReadonlyArray<Figures> => {
            const page = targets[i]?.page
            if (outcome._tag === "Failed" || outcome.isPartial || page === undefined) return []
            const { index, metrics, of } = outcome
            return [{ provider, page, metrics, fetchedAt, index, of }]
          })
          bought.forEach((figures) => learn(figures))
          yield* write(bought)
          const outcomes = answer.outcomes.map((outcome) =>
            outcome._tag === "Checked" ? { ...outcome, fetchedAt } : outcome,
          )
          return { ...answer, outcomes }
        }),
      }),
    }
  })

/** True if the vendor failed. An answer that it does not know the target is not a failure. */
const hasFailed = (outcome: Outcome | undefined) =>
  outcome?._tag === "Failed" && outcome.reason === "PROVIDER_ERROR" && outcome.cause !== "unknown"

const originOf = ({ fetchedAt, index, of, provider }: Figures) => ({
  provider,
  fetchedAt,
  index,
  of,
})

type Kept = Outcome & { readonly fetchedAt: number }

const warnOfReads = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(
    "The cached figures in the database cannot be read. Figures that are not in memory are bought until this is over. To check the database, run 'authority doctor'.",
    cause,
  )
