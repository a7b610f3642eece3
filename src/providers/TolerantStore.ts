/**
 * The stored figures of one provider, as its cache uses them: writes wait and are done together, and
 * no method fails. A failed read is a cache miss, and a failed write is dropped.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Figures, MetricsCache } from "../MetricsCache.ts"
import * as Alarms from "../time/Alarms.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import * as SteadyClock from "../time/SteadyClock.ts"

export interface TolerantStore {
  /** Returns the figures fetched after `since`, in epoch milliseconds. */
  readonly get: (
    pages: Arr.NonEmptyReadonlyArray<string>,
    since: number,
  ) => Effect.Effect<ReadonlyArray<Figures>>
  /**
   * Queues the figures for a background fiber, which writes them to the store in batches. Does
   * nothing when the page's address is too long, or when the queue is full.
   */
  readonly put: (figures: Figures) => void
  /** Absent when no other process shares the store. */
  readonly claims: Claims | undefined
}

/** The claims of the pages that this process buys, so that no other process buys them too. */
export interface Claims {
  /**
   * Returns the pages that this process may buy. Others are buying the rest, or their figures are
   * on the way to the store. When the store fails, this process may buy all: better a page that
   * is bought twice than no answer.
   */
  readonly take: (pages: Arr.NonEmptyReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>
  /** Extends the claims of pages while the effect runs. */
  readonly keep: (
    pages: ReadonlyArray<string>,
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends the claims of pages, but for those whose figures are on the way to the store. */
  readonly release: (pages: ReadonlyArray<string>) => Effect.Effect<void>
}

export interface Options {
  /** The store deletes what is older, in milliseconds. */
  readonly keptMs: number
  /** How long a claim lasts when its process dies, in milliseconds. */
  readonly leaseMs: number
}

/** Makes the store. When the scope closes, writes the queued figures. */
export const make = (
  provider: string,
  { keptMs, leaseMs }: Options,
): Effect.Effect<TolerantStore, never, MetricsCache | Scope.Scope> =>
  Effect.gen(function* () {
    const cache = yield* MetricsCache
    const orFallback = makeTolerance(yield* Alarms.make)
    const waiting = new Map<string, Figures>()
    const claims = claimsOf(cache.claims, { provider, leaseMs, orFallback })
    const hasWaiting = yield* Effect.makeLatch(false)

    const write = Effect.suspend(() => {
      const figures = [...waiting.values()]
      waiting.clear()
      hasWaiting.unsafeClose()
      // Other work runs between two writes, because a write to SQLite blocks the process.
      return Effect.forEach(
        inPuts(figures),
        (some) =>
          orFallback(cache.put(some), undefined).pipe(
            Effect.zipRight(Effect.sync(() => claims?.stored(some))),
            Effect.zipRight(Effect.sleep(0)),
          ),
        { discard: true },
      )
    })

    const flush = inDaemon(write)

    const isSteady = SteadyClock.make()
    const sweep = Effect.flatMap(
      Effect.all([Clock.currentTimeMillis, isSteady]),
      ([now, steady]) => (steady ? orFallback(cache.sweep(now - keptMs), undefined) : Effect.void),
    )

    yield* Effect.addFinalizer(() => flush)
    yield* hasWaiting.await.pipe(
      Effect.zipRight(Effect.delay(flush, claims === undefined ? writeDelay : sharedWriteDelay)),
      Effect.forever,
      Effect.forkScoped,
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("10 minutes")))

    return {
      get: (pages, since) => orFallback(cache.get(provider, pages, since), []),
      put: (figures) => {
        const isKept = figures.page.length <= maxPageLength && waiting.size < maxWaiting
        if (!isKept) return
        const isBusy = waiting.size >= maxWaitingHistories
        waiting.set(figures.page, isBusy ? { ...figures, history: undefined } : figures)
        hasWaiting.unsafeOpen()
        claims?.storing(figures.page)
      },
      claims,
    }
  })

// The daemon can time out. A finalizer itself could not, because it cannot be interrupted.
const inDaemon = (effect: Effect.Effect<void>) =>
  Effect.interruptible(effect).pipe(
    Effect.forkDaemon,
    Effect.flatMap(Fiber.join),
    Effect.uninterruptible,
  )

interface ClaimOptions {
  readonly provider: string
  readonly leaseMs: number
  readonly orFallback: ReturnType<typeof makeTolerance>
}

const claimsOf = (
  claims: MetricsCache["Type"]["claims"],
  { leaseMs, orFallback, provider }: ClaimOptions,
) => {
  if (claims === undefined) return undefined
  /** This process's claims: of pages that it buys, and of bought pages that are not yet stored. */
  const own = new Map<string, "buying" | "storing">()
  const bought = (pages: ReadonlyArray<string>) =>
    pages.filter((page) => own.get(page) === "buying")

  const extend = (pages: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const some = bought(pages)
      return Arr.isNonEmptyReadonlyArray(some)
        ? orFallback(claims.take(provider, some, leaseMs), [])
        : Effect.void
    })

  return {
    take: (pages: ReadonlyArray<string>) => {
      const [long, others] = Arr.partition(pages, (page) => page.length <= maxPageLength)
      const free = others.filter((page) => !own.has(page))
      if (!Arr.isNonEmptyArray(free)) return Effect.succeed(new Set(long))
      const taken = Effect.map(claims.take(provider, free, leaseMs), (taken) => {
        for (const page of taken) own.set(page, "buying")
        return taken
      })
      return Effect.map(orFallback(taken, free), (taken) => new Set([...long, ...taken]))
    },

    keep:
      (pages: ReadonlyArray<string>) =>
      <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.raceFirst(effect, Effect.forever(Effect.delay(extend(pages), leaseMs / 3))),

    release: (pages: ReadonlyArray<string>) =>
      Effect.suspend(() => {
        const ended = bought(pages)
        if (ended.length === 0) return Effect.void
        return orFallback(claims.release(provider, ended), undefined).pipe(
          Effect.zipRight(Effect.sync(() => ended.forEach((page) => own.delete(page)))),
          inDaemon,
        )
      }),

    storing: (page: string) => {
      if (own.has(page)) own.set(page, "storing")
    },

    stored: (figures: ReadonlyArray<Figures>) => figures.forEach(({ page }) => own.delete(page)),
  }
}

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

/** The same, where other processes may wait for the figures. */
const sharedWriteDelay = Duration.millis(10)

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
