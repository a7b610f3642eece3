/**
 * Caches a vendor's figures: the most recently used figures in memory, and all figures in a store
 * that other processes share. Failures are not cached.
 *
 * `readThrough` is outside the queue of calls to the vendor, so a cache hit does not wait in the
 * queue. `writeThrough` is inside the queue. There, a client that hangs up cannot interrupt the
 * call to the vendor, so figures that were paid for are saved.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { peekable } from "../Direct.ts"
import { Freshness } from "../Freshness.ts"
import { HistoryWanted } from "../VendorHistory.ts"
import { checkedFrom, missing, type Outcome } from "../Metrics.ts"
import type { Figures, MetricsCache } from "../MetricsCache.ts"
import { type MetricsProvider, nothingKnown, prospectsOf } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"
import { Lru } from "../cache/Lru.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import { AfterStored } from "./AfterStored.ts"
import type { Claims as StoreClaims } from "./Claims.ts"
import * as TolerantStore from "./TolerantStore.ts"

type Provider = MetricsProvider["Type"]

export interface Options {
  /** How long figures stay valid after the vendor's answer. */
  readonly ttl: Duration.Duration
  /** Younger figures are not bought anew, whatever age the client accepts; default 0. */
  readonly minAge?: Duration.DurationInput
  /** How long past their lifetime figures still answer when the vendor fails; default 0. */
  readonly staleIfError?: Duration.DurationInput
  /** How long observations are kept; default 0, which keeps none. */
  readonly history?: Duration.DurationInput
  /** True when the vendor has a history of its own, which fills that of a new domain. */
  readonly hasVendorHistory?: boolean
  /**
   * Maximum number of pages whose figures are in memory. The limit is per provider. A page with a
   * long address counts as several pages, as `Lru` says.
   */
  readonly capacity: number
  /** How long others do not buy what a process was buying when it died; default 12 seconds. */
  readonly claimLease?: Duration.DurationInput
}

export interface Cached {
  /** Returns a provider that reads from the cache first, and asks `inner` only for cache misses. */
  readonly readThrough: (inner: Provider) => Provider
  /** Returns a provider that asks `inner` and saves the figures from the answers in the cache. */
  readonly writeThrough: (inner: Provider) => Provider
  /** Returns the figures of a target that are in memory, if a client that accepts the age gets them. */
  readonly recall: (target: Target, maxAgeMs: number) => Outcome | undefined
  /** Absent when no other process shares the store. */
  readonly claims: Claims | undefined
}

/** Claims of pages, so that replicas buy them once. */
export interface Claims extends Pick<StoreClaims, "keep" | "release"> {
  /**
   * Claims pages. Returns a function that says for each page, and the greatest age that a client
   * accepts: another process is buying the page, or has bought it, or this process has to buy it.
   */
  readonly take: (
    pages: Arr.NonEmptyReadonlyArray<string>,
  ) => Effect.Effect<(page: string, maxAgeMs: number) => Outcome | "busy" | "claimed">
}

/**
 * Makes the cache of one provider. When the scope closes, writes the queued figures to the store.
 */
export const make = (
  provider: string,
  options: Options,
): Effect.Effect<Cached, never, MetricsCache | Scope.Scope> =>
  Effect.gen(function* () {
    const ttlMs = Duration.toMillis(options.ttl)
    const minAgeMs = Duration.toMillis(options.minAge ?? 0)
    const staleMs = Duration.toMillis(options.staleIfError ?? 0)
    const historyMs = Duration.toMillis(options.history ?? 0)
    const parts: Parts = {
      clock: yield* Effect.clock,
      memory: makeMemory(options.capacity),
      meters: Meters.make(provider),
      store: yield* TolerantStore.make(provider, {
        keptMs: Math.max(ttlMs + staleMs, historyMs),
        leaseMs: Duration.toMillis(options.claimLease ?? "12 seconds"),
      }),
      accepted: (maxAgeMs) => Math.min(ttlMs, Math.max(maxAgeMs, minAgeMs)),
      staleMs: staleMs === 0 ? 0 : ttlMs + staleMs,
      wantsHistory: historyMs > 0 && options.hasVendorHistory === true,
    }
    const { accepted, clock, memory } = parts
    return {
      readThrough: (inner) => readThrough(parts, inner),
      writeThrough: (inner) => writeThrough(parts, provider, inner),
      recall: (target, maxAgeMs) =>
        memory.recall(target.page, clock.unsafeCurrentTimeMillis(), accepted(maxAgeMs)),
      claims: parts.store.claims && claiming(parts, parts.store.claims),
    }
  })

interface Parts {
  readonly clock: Clock.Clock
  readonly memory: Memory
  readonly meters: Meters.Meters
  readonly store: TolerantStore.TolerantStore
  /** The greatest age of figures that answer a lookup with a `Freshness`, in milliseconds. */
  readonly accepted: (maxAgeMs: number) => number
  /** The greatest age of figures that answer when the vendor fails, in milliseconds; 0 for none. */
  readonly staleMs: number
  readonly wantsHistory: boolean
}

const readThrough = (parts: Parts, inner: Provider): Provider => {
  const { accepted, clock, memory, meters, staleMs, store } = parts
  const recallEach = (targets: ReadonlyArray<Target>) => {
    const [now, maxAgeMs] = [clock.unsafeCurrentTimeMillis(), accepted(Number.POSITIVE_INFINITY)]
    const outcomes: Array<Outcome> = []
    for (const target of targets) {
      const outcome = memory.recall(target.page, now, maxAgeMs)
      if (outcome === undefined) return undefined
      outcomes.push(outcome)
    }
    return outcomes
  }
  const recallAll = (targets: ReadonlyArray<Target>) => {
    const outcomes = recallEach(targets)
    if (outcomes === undefined) return Option.none()
    meters.cacheHits(outcomes.length)
    return Option.some(outcomes)
  }
  const recallOrRead = recaller(parts)
  const staleIfFailed = staleAnswers(store, staleMs)
  return {
    ...inner,
    known: peekable(recallAll, nothingKnown),
    prospects: Object.assign(
      (targets: Arr.NonEmptyReadonlyArray<Target>) =>
        Effect.flatMap(recallOrRead(targets), (found) => prospectsAfter(inner, targets, found)),
      {
        peek: (targets: ReadonlyArray<Target>) => recallEach(targets)?.map(() => "known" as const),
      },
    ),
    lookup: Effect.fnUntraced(function* (targets) {
      const found = yield* recallOrRead(targets)
      const missed = targets.filter((_, i) => found[i] === undefined)
      meters.cacheHits(targets.length - missed.length)
      if (!Arr.isNonEmptyArray(missed)) return found.map(orMissing)
      meters.cacheMisses(missed.length)
      const given = (yield* inner.lookup(missed))[Symbol.iterator]()
      const outcomes = found.map((outcome) => outcome ?? orMissing(given.next().value))
      return staleMs > 0 ? yield* staleIfFailed(targets, outcomes) : outcomes
    }),
  }
}

const writeThrough = (
  { memory, store, wantsHistory }: Parts,
  provider: string,
  inner: Provider,
): Provider => ({
  ...inner,
  lookup: Effect.fnUntraced(function* (targets) {
    const wanted = wantsHistory ? yield* newDomains(store, targets) : nothingWanted
    const ends: Array<Effect.Effect<void>> = []
    const outcomes = yield* inner
      .lookup(targets)
      .pipe(
        Effect.provideService(HistoryWanted, wanted),
        store.claims === undefined
          ? identity
          : Effect.provideService(AfterStored, (end) => Effect.sync(() => void ends.push(end))),
      )
    const fetchedAt = yield* Clock.currentTimeMillis
    targets.forEach(({ page }, i) => {
      const outcome = outcomes[i]
      if (outcome?._tag !== "Checked" || outcome.isPartial) return
      const { history, index, metrics, of } = outcome
      const figures = { provider, page, metrics, fetchedAt, index, of, history }
      memory.learn(figures)
      store.put(figures)
    })
    if (ends.length > 0) yield* store.afterPut(Effect.all(ends, { discard: true }))
    return outcomes.map((one) => (one._tag === "Checked" ? { ...one, fetchedAt } : one))
  }),
})

/** Finds figures of the accepted age, in memory or else in the store. */
const recaller = ({ accepted, memory, store }: Parts) =>
  Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
    const [now, maxAgeMs] = [yield* Clock.currentTimeMillis, accepted(yield* Freshness)]
    const known = targets.map((target) => memory.recall(target.page, now, maxAgeMs))
    const pages = targets.flatMap(({ page }, i) => (known[i] === undefined ? [page] : []))
    if (!Arr.isNonEmptyArray(pages)) return known
    const figures = yield* store.get(pages, now - maxAgeMs)
    const stored = new Map(figures.map((found) => [found.page, memory.learn(found)]))
    return known.map((outcome, i) => outcome ?? stored.get(targets[i]?.page ?? ""))
  })

const claiming = (
  { accepted, clock, memory }: Parts,
  { keep, release, take }: StoreClaims,
): Claims => ({
  keep,
  release,
  take: Effect.fnUntraced(function* (pages) {
    const since = clock.unsafeCurrentTimeMillis() - accepted(Number.POSITIVE_INFINITY)
    const { claimed, found } = yield* take(pages, since)
    const figures = new Map(found.map((one) => [one.page, one]))
    return (page, maxAgeMs) => {
      if (!claimed.has(page)) return "busy"
      const one = figures.get(page)
      const isFresh =
        one !== undefined && clock.unsafeCurrentTimeMillis() - one.fetchedAt < accepted(maxAgeMs)
      return isFresh ? memory.learn(one) : "claimed"
    }
  }),
})

/**
 * Finds the domains of which the store has no figures, however old. A vendor's history is that of a
 * domain, so other pages of the domain do not get it.
 */
const newDomains = Effect.fnUntraced(function* (
  store: TolerantStore.TolerantStore,
  targets: ReadonlyArray<Target>,
) {
  const pages = targets.flatMap(({ domain, page }) => (page === `${domain}/` ? [page] : []))
  if (!Arr.isNonEmptyArray(pages)) return nothingWanted
  const seen = new Set((yield* store.get(pages, 0)).map(({ page }) => page))
  return new Set(pages.filter((page) => !seen.has(page)))
})

const nothingWanted: ReadonlySet<string> = new Set()

/** Replaces failures of the vendor by figures of at most the age `keptMs`. */
const staleAnswers = (store: TolerantStore.TolerantStore, keptMs: number) =>
  Effect.fnUntraced(function* (targets: ReadonlyArray<Target>, outcomes: ReadonlyArray<Outcome>) {
    const hasFailed = (outcome: Outcome | undefined) =>
      outcome?._tag === "Failed" &&
      outcome.reason === "PROVIDER_ERROR" &&
      outcome.cause !== "unknown"
    const pages = targets.flatMap(({ page }, i) => (hasFailed(outcomes[i]) ? [page] : []))
    if (!Arr.isNonEmptyArray(pages)) return outcomes
    const now = yield* Clock.currentTimeMillis
    const kept = yield* store.get(pages, now - keptMs)
    const stale = new Map(
      kept.map(({ metrics, page, ...origin }) => [
        page,
        checkedFrom(metrics, { ...origin, source: "stale" }),
      ]),
    )
    return outcomes.map((outcome, i) =>
      hasFailed(outcome) ? (stale.get(targets[i]?.page ?? "") ?? outcome) : outcome,
    )
  })

/** Returns the prospects of targets. Asks `inner` for targets that are not in the cache. */
const prospectsAfter = (inner: Provider, targets: ReadonlyArray<Target>, found: Found) => {
  const open = targets.filter((_, i) => found[i] === undefined)
  if (!Arr.isNonEmptyArray(open)) return Effect.succeed(found.map(() => "known" as const))
  return Effect.map(prospectsOf(inner, open), (prospects) => {
    const given = prospects[Symbol.iterator]()
    return found.map((outcome) =>
      outcome === undefined ? (given.next().value ?? "asked") : ("known" as const),
    )
  })
}

/** One element for each target: its outcome, or undefined when it is not in the cache. */
type Found = ReadonlyArray<Outcome | undefined>

type Memory = ReturnType<typeof makeMemory>

const makeMemory = (capacity: number) => {
  const memory = new Lru<Kept>(capacity)
  return {
    recall: (page: string, now: number, maxAgeMs: number): Outcome | undefined => {
      const kept = memory.get(page)
      return kept !== undefined && now - kept.fetchedAt < maxAgeMs ? kept : undefined
    },
    learn: ({ fetchedAt, index, metrics, of, page, provider }: Figures): Outcome => {
      // A literal, and nothing around it: a hit then reads two objects of memory less.
      const outcome: Kept = {
        _tag: "Checked",
        metrics,
        fetchedAt,
        source: "known",
        provider,
        index,
        of,
      }
      memory.set(page, outcome)
      return outcome
    },
  }
}

/** An outcome in memory. */
type Kept = Outcome & { readonly fetchedAt: number }

const orMissing = (outcome: Outcome | undefined): Outcome => outcome ?? missing
