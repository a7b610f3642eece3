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
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { missing, Outcome } from "../Metrics.ts"
import { type Figures, MetricsCache } from "../MetricsCache.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import { Lru } from "../cache/Lru.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import * as Recall from "./Recall.ts"

type Provider = MetricsProvider["Type"]

export interface Options {
  /** How long figures stay valid after the vendor's answer. */
  readonly ttl: Duration.Duration
  /** Maximum number of pages whose figures are in memory. The limit is per provider. */
  readonly capacity: number
}

export interface Cached {
  /** Returns a provider that reads from the cache first, and asks `inner` only for cache misses. */
  readonly readThrough: (inner: Provider) => Provider
  /** Returns a provider that asks `inner` and saves the figures from the answers in the cache. */
  readonly writeThrough: (inner: Provider) => Provider
}

interface Kept {
  readonly outcome: Outcome
  readonly expiresAt: number
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
    const memory = new Lru<string, Kept>(options.capacity)
    const store = yield* tolerantStore(provider, ttlMs)

    const remembered = ({ page }: Target, now: number): Outcome | undefined => {
      const kept = memory.get(page)
      return kept !== undefined && now < kept.expiresAt ? kept.outcome : undefined
    }

    /**
     * Returns one element for each target: its outcome, or undefined when memory does not have the
     * outcome. Does not read the store.
     */
    const recall = (targets: ReadonlyArray<Target>, now: number) =>
      targets.map((target) => remembered(target, now))

    const recallAll = (targets: ReadonlyArray<Target>, now: number) => {
      const outcomes: Array<Outcome> = []
      for (const target of targets) {
        const outcome = remembered(target, now)
        if (outcome === undefined) return undefined
        outcomes.push(outcome)
      }
      meters.cacheHits(outcomes.length)
      return outcomes
    }

    const learn = ({ fetchedAt, metrics, page }: Figures) =>
      memory.set(page, { outcome: Outcome.Checked({ metrics }), expiresAt: fetchedAt + ttlMs })

    const askFor = (
      inner: Provider,
      targets: ReadonlyArray<Target>,
      known: ReadonlyArray<Outcome | undefined>,
    ) => {
      const unknown = targets.filter((_, i) => known[i] === undefined)
      meters.cacheHits(targets.length - unknown.length)
      if (!Arr.isNonEmptyArray(unknown)) return Effect.succeed(known.map(orMissing))
      return Effect.map(inner.lookup(unknown), (outcomes) => {
        const given = outcomes[Symbol.iterator]()
        return known.map((outcome) => outcome ?? orMissing(given.next().value))
      })
    }

    const readThrough = (inner: Provider): Provider => {
      const lookup: Provider["lookup"] = (targets) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const known = recall(targets, now)
          const pages = targets.flatMap(({ page }, i) => (known[i] === undefined ? [page] : []))
          if (!Arr.isNonEmptyArray(pages)) return askFor(inner, targets, known)
          return Effect.flatMap(store.get(pages, now), (figures) => {
            figures.forEach(learn)
            const stored = recall(targets, now)
            meters.cacheMisses(stored.filter((outcome) => outcome === undefined).length)
            return askFor(inner, targets, stored)
          })
        })
      return Recall.remembering({ ...inner, lookup }, recallAll)
    }

    const writeThrough = (inner: Provider): Provider => ({
      ...inner,
      lookup: Effect.fnUntraced(function* (targets) {
        // While these targets waited in the queue, another call may have fetched some of them.
        const known = recall(targets, yield* Clock.currentTimeMillis)
        const outcomes = yield* askFor(inner, targets, known)
        const fetchedAt = yield* Clock.currentTimeMillis
        targets.forEach(({ page }, i) => {
          const outcome = outcomes[i]
          if (known[i] !== undefined || outcome?._tag !== "Checked" || outcome.isPartial) return
          const figures = { provider, page, metrics: outcome.metrics, fetchedAt }
          learn(figures)
          store.put(figures)
        })
        return outcomes
      }),
    })

    return { readThrough, writeThrough }
  })

/**
 * Makes a store whose methods never fail: a failed read is a cache miss, and a failed write is
 * dropped.
 */
const tolerantStore = (provider: string, ttlMs: number) =>
  Effect.gen(function* () {
    const cache = yield* MetricsCache
    const waiting = new Map<string, Figures>()
    const hasWaiting = yield* Effect.makeLatch(false)
    let restsUntil = Number.NEGATIVE_INFINITY

    /**
     * After a failure or timeout, skips the store for `restMs`, so a bad store delays few requests.
     */
    const orFallback = <A, E>(access: Effect.Effect<A, E>, otherwise: A) =>
      Effect.flatMap(MonotonicClock.now, (now) =>
        now < restsUntil
          ? Effect.succeed(otherwise)
          : access.pipe(
              // `disconnect` lets the timeout end the wait although a store's method cannot be
              // interrupted.
              Effect.disconnect,
              Effect.timeout(storeTimeout),
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

    const write = Effect.suspend(() => {
      const figures = [...waiting.values()]
      waiting.clear()
      hasWaiting.unsafeClose()
      return Effect.forEach(
        Arr.chunksOf(figures, putSize),
        (some) =>
          Arr.isNonEmptyArray(some) ? orFallback(cache.put(some), undefined) : Effect.void,
        { discard: true },
      )
    })

    /**
     * Writes in a daemon fiber: closing the scope does not interrupt this fiber, but the write's
     * timeout can. A write in the finalizer itself could not time out, because a finalizer cannot
     * be interrupted.
     */
    const flush = Effect.interruptible(write).pipe(
      Effect.forkDaemon,
      Effect.flatMap(Fiber.join),
      Effect.uninterruptible,
    )

    const sweep = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      orFallback(cache.sweep(now - ttlMs), undefined),
    )

    yield* Effect.addFinalizer(() => flush)
    yield* hasWaiting.await.pipe(
      Effect.zipRight(Effect.delay(flush, writeDelay)),
      Effect.forever,
      Effect.forkScoped,
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("10 minutes")))

    return {
      get: (pages: Arr.NonEmptyReadonlyArray<string>, now: number) =>
        orFallback(cache.get(provider, pages, now - ttlMs), []),
      /**
       * Queues the figures for a background fiber, which writes them to the store in batches. Does
       * nothing when the page's address is too long, or when the queue is full.
       */
      put: (figures: Figures) => {
        const isKept = figures.page.length <= maxPageLength && waiting.size < maxWaiting
        if (!isKept) return
        waiting.set(figures.page, figures)
        hasWaiting.unsafeOpen()
      },
    }
  })

const storeTimeout = Duration.seconds(1)

/** How long the store is skipped after a failure, in milliseconds. */
const restMs = 5000

/** How long a flush waits to collect more figures. */
const writeDelay = Duration.millis(200)

/** Maximum number of pages whose figures one call of the store's `put` writes. */
const putSize = 200

/**
 * Maximum number of pages whose figures wait for a flush. The figures of further pages are not
 * saved in the store and stay in memory only.
 */
const maxWaiting = 20_000

/**
 * Maximum length of a page's address (`Target.page`) in the store, in characters, because
 * PostgreSQL limits an index entry to about 2,700 bytes. Figures with a longer address stay in
 * memory only.
 */
const maxPageLength = 2000

const orMissing = (outcome: Outcome | undefined): Outcome => outcome ?? missing
