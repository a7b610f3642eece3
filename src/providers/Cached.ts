/**
 * Caches a vendor's figures: the most recently used figures in memory, and all figures in a store
 * that other processes share. Failures are not cached.
 *
 * `readThrough` is outside the queue of calls to the vendor, so a cache hit does not wait in the
 * queue. `writeThrough` is inside the queue. There, a client that hangs up cannot interrupt the
 * call to the vendor, so figures that were paid for are saved.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { peekable } from "../Direct.ts"
import { Freshness } from "../Freshness.ts"
import { HistoryWanted } from "../VendorHistory.ts"
import { checkedFrom, missing, type Outcome } from "../Metrics.ts"
import { type Figures, MetricsCache } from "../MetricsCache.ts"
import { type MetricsProvider, nothingKnown } from "../MetricsProvider.ts"
import * as Alarms from "../time/Alarms.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import * as SteadyClock from "../time/SteadyClock.ts"
import type { Target } from "../Target.ts"
import { Lru } from "../cache/Lru.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

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
}

export interface Cached {
  /** Returns a provider that reads from the cache first, and asks `inner` only for cache misses. */
  readonly readThrough: (inner: Provider) => Provider
  /** Returns a provider that asks `inner` and saves the figures from the answers in the cache. */
  readonly writeThrough: (inner: Provider) => Provider
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
    const meters = Meters.make(provider)
    const memory = makeMemory(options.capacity)
    const staleMs = Duration.toMillis(options.staleIfError ?? 0)
    const historyMs = Duration.toMillis(options.history ?? 0)
    const store = yield* tolerantStore(provider, Math.max(ttlMs + staleMs, historyMs))
    const historyWanted =
      historyMs > 0 && options.hasVendorHistory === true
        ? newDomains(store)
        : () => Effect.succeed(nothingWanted)
    const minAgeMs = Duration.toMillis(options.minAge ?? 0)
    const accepted = Effect.map(Freshness, (maxAgeMs) =>
      Math.min(ttlMs, Math.max(maxAgeMs, minAgeMs)),
    )
    const clock = yield* Effect.clock

    const recallAll = (targets: ReadonlyArray<Target>) => {
      const now = clock.unsafeCurrentTimeMillis()
      const outcomes: Array<Outcome> = []
      for (const target of targets) {
        const outcome = memory.recall(target, now, ttlMs)
        if (outcome === undefined) return Option.none()
        outcomes.push(outcome)
      }
      meters.cacheHits(outcomes.length)
      return Option.some(outcomes)
    }

    const askFor = asker(meters)

    const recallOrRead = recaller(memory, store, accepted)
    const staleIfFailed = staleAnswers(store, ttlMs + staleMs)

    const readThrough = (inner: Provider): Provider => ({
      ...inner,
      known: peekable(recallAll, nothingKnown),
      areKnown: (targets) =>
        Effect.flatMap(recallOrRead(targets), (found) => knownOrRemembered(inner, targets, found)),
      lookup: Effect.fnUntraced(function* (targets) {
        const found = yield* recallOrRead(targets)
        const misses = found.filter((outcome) => outcome === undefined).length
        if (misses > 0) meters.cacheMisses(misses)
        const outcomes = yield* askFor(inner, targets, found)
        return staleMs > 0 && misses > 0 ? yield* staleIfFailed(targets, outcomes) : outcomes
      }),
    })

    const writeThrough = (inner: Provider): Provider => ({
      ...inner,
      lookup: Effect.fnUntraced(function* (targets) {
        // While these targets waited in the queue, another call may have fetched some of them.
        const [now, maxAgeMs] = [yield* Clock.currentTimeMillis, yield* accepted]
        const known = targets.map((target) => memory.recall(target, now, maxAgeMs))
        const wanted = yield* historyWanted(targets)
        const outcomes = yield* Effect.provideService(
          askFor(inner, targets, known),
          HistoryWanted,
          wanted,
        )
        const fetchedAt = yield* Clock.currentTimeMillis
        targets.forEach(({ page }, i) => {
          const outcome = outcomes[i]
          if (known[i] !== undefined || outcome?._tag !== "Checked" || outcome.isPartial) return
          const { history, index, metrics, of } = outcome
          const figures = { provider, page, metrics, fetchedAt, index, of, history }
          memory.learn(figures)
          store.put(figures)
        })
        return outcomes
      }),
    })

    return { readThrough, writeThrough }
  })

/** Finds figures of the accepted age, in memory or else in the store. */
const recaller = (memory: Memory, store: TolerantStore, accepted: Effect.Effect<number>) =>
  Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
    const [now, maxAgeMs] = [yield* Clock.currentTimeMillis, yield* accepted]
    const known = targets.map((target) => memory.recall(target, now, maxAgeMs))
    const pages = targets.flatMap(({ page }, i) => (known[i] === undefined ? [page] : []))
    if (!Arr.isNonEmptyArray(pages)) return known
    const figures = yield* store.get(pages, now - maxAgeMs)
    const stored = new Map(figures.map((found) => [found.page, memory.learn(found)]))
    return known.map((outcome, i) => outcome ?? stored.get(targets[i]?.page ?? ""))
  })

/**
 * Finds the domains of which the store has no figures, however old. A vendor's history is that of a
 * domain, so other pages of the domain do not get it.
 */
const newDomains = (store: TolerantStore) =>
  Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
    const pages = targets.flatMap(({ domain, page }) => (page === `${domain}/` ? [page] : []))
    if (!Arr.isNonEmptyArray(pages)) return nothingWanted
    const seen = new Set((yield* store.get(pages, 0)).map(({ page }) => page))
    return new Set(pages.filter((page) => !seen.has(page)))
  })

const nothingWanted: ReadonlySet<string> = new Set()

/** Replaces failures of the vendor by figures of at most the age `keptMs`. */
const staleAnswers = (store: TolerantStore, keptMs: number) =>
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

/** For each target, whether it is found, or `inner` remembers that the vendor does not know it. */
const knownOrRemembered = (inner: Provider, targets: ReadonlyArray<Target>, found: Found) => {
  const open = targets.filter((_, i) => found[i] === undefined)
  const asked =
    inner.areKnown !== undefined && Arr.isNonEmptyArray(open)
      ? inner.areKnown(open)
      : Effect.succeed([])
  return Effect.map(asked, (remembered) => {
    const given = remembered[Symbol.iterator]()
    return found.map((outcome) => outcome !== undefined || given.next().value === true)
  })
}

/** Asks `inner` for the targets whose outcome is not known. */
const asker =
  (meters: Meters.Meters) => (inner: Provider, targets: ReadonlyArray<Target>, known: Found) => {
    const unknown = targets.filter((_, i) => known[i] === undefined)
    meters.cacheHits(targets.length - unknown.length)
    if (!Arr.isNonEmptyArray(unknown)) return Effect.succeed(known.map(orMissing))
    return Effect.map(inner.lookup(unknown), (outcomes) => {
      const given = outcomes[Symbol.iterator]()
      return known.map((outcome) => outcome ?? orMissing(given.next().value))
    })
  }

/** One element for each target: its outcome, or undefined when it is not in the cache. */
type Found = ReadonlyArray<Outcome | undefined>

type Memory = ReturnType<typeof makeMemory>
type TolerantStore = Effect.Effect.Success<ReturnType<typeof tolerantStore>>

const makeMemory = (capacity: number) => {
  const memory = new Lru<{ readonly outcome: Outcome; readonly fetchedAt: number }>(capacity)
  return {
    recall: ({ page }: Target, now: number, maxAgeMs: number): Outcome | undefined => {
      const kept = memory.get(page)
      return kept !== undefined && now - kept.fetchedAt < maxAgeMs ? kept.outcome : undefined
    },
    learn: (figures: Figures): Outcome => {
      const { fetchedAt, index, metrics, of, provider } = figures
      const outcome = checkedFrom(metrics, { provider, source: "known", fetchedAt, index, of })
      memory.set(figures.page, { outcome, fetchedAt })
      return outcome
    },
  }
}

// Makes a store whose methods never fail: a failed read is a cache miss, and a failed write is
// dropped.
const tolerantStore = (provider: string, keptMs: number) =>
  Effect.gen(function* () {
    const cache = yield* MetricsCache
    const orFallback = makeTolerance(yield* Alarms.make)
    const waiting = new Map<string, Figures>()
    const hasWaiting = yield* Effect.makeLatch(false)

    const write = Effect.suspend(() => {
      const figures = [...waiting.values()]
      waiting.clear()
      hasWaiting.unsafeClose()
      // Other work runs between two writes, because a write to SQLite blocks the process.
      return Effect.forEach(
        inPuts(figures),
        (some) => Effect.zipRight(orFallback(cache.put(some), undefined), Effect.sleep(0)),
        { discard: true },
      )
    })

    // The daemon can time out. A write in the finalizer itself could not, because a finalizer
    // cannot be interrupted.
    const flush = Effect.interruptible(write).pipe(
      Effect.forkDaemon,
      Effect.flatMap(Fiber.join),
      Effect.uninterruptible,
    )

    const isSteady = SteadyClock.make()
    const sweep = Effect.flatMap(
      Effect.all([Clock.currentTimeMillis, isSteady]),
      ([now, steady]) => (steady ? orFallback(cache.sweep(now - keptMs), undefined) : Effect.void),
    )

    yield* Effect.addFinalizer(() => flush)
    yield* hasWaiting.await.pipe(
      Effect.zipRight(Effect.delay(flush, writeDelay)),
      Effect.forever,
      Effect.forkScoped,
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("10 minutes")))

    return {
      get: (pages: Arr.NonEmptyReadonlyArray<string>, since: number) =>
        orFallback(cache.get(provider, pages, since), []),
      /**
       * Queues the figures for a background fiber, which writes them to the store in batches. Does
       * nothing when the page's address is too long, or when the queue is full.
       */
      put: (figures: Figures) => {
        const isKept = figures.page.length <= maxPageLength && waiting.size < maxWaiting
        if (!isKept) return
        const isBusy = waiting.size >= maxWaitingHistories
        waiting.set(figures.page, isBusy ? { ...figures, history: undefined } : figures)
        hasWaiting.unsafeOpen()
      },
    }
  })

// After a failure or timeout, skips the store for `restMs`, so a bad store delays few requests.
const makeTolerance = (alarms: Alarms.Alarms) => {
  let restsUntil = Number.NEGATIVE_INFINITY
  return <A, E>(access: Effect.Effect<A, E>, otherwise: A) =>
    Effect.flatMap(MonotonicClock.now, (now) =>
      now < restsUntil
        ? Effect.succeed(otherwise)
        : access.pipe(
            Alarms.until(alarms, now + storeTimeoutMs, new Cause.TimeoutException()),
            Effect.catchAllCause((cause) => {
              restsUntil = now + restMs
              return Effect.as(
                Effect.logWarning(
                  "The cached figures in the database cannot be read or written. For 5 seconds the service uses only the figures that are cached in memory. To check the database, run 'authority doctor'.",
                  cause,
                ),
                otherwise,
              )
            }),
          ),
    )
}

const storeTimeoutMs = 1000

/** How long the store is skipped after a failure, in milliseconds. */
const restMs = 5000

/** How long a flush waits to collect more figures. */
const writeDelay = Duration.millis(200)

/** Divides figures into the writes of the store, by the length of the addresses in their rows. */
const inPuts = (figures: ReadonlyArray<Figures>) => {
  const puts: Array<Arr.NonEmptyArray<Figures>> = []
  let characters = putCharacters
  for (const one of figures) {
    const last = puts.at(-1)
    const length = one.page.length * (1 + (one.history?.length ?? 0))
    characters += length
    if (last !== undefined && last.length < putSize && characters <= putCharacters) last.push(one)
    else {
      puts.push([one])
      characters = length
    }
  }
  return puts
}

/** Maximum number of pages whose figures one call of the store's `put` writes. */
const putSize = 200

/** Maximum length of their addresses together. Such a write takes SQLite about 2 ms. */
const putCharacters = 20_000

// Maximum number of pages whose figures wait for a flush. The figures of further pages are not
// saved in the store and stay in memory only.
const maxWaiting = 20_000

// Maximum number of waiting pages that have a vendor's history, of about 100 figures each.
const maxWaitingHistories = 1000

// Maximum length of a page's address (`Target.page`) in the store, in characters, because
// PostgreSQL limits an index entry to about 2,700 bytes. Figures with a longer address stay in
// memory only.
const maxPageLength = 2000

const orMissing = (outcome: Outcome | undefined): Outcome => outcome ?? missing
