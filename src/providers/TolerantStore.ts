/**
 * The stored figures of one provider, as its cache uses them: writes wait and are done together, and
 * no method fails. A failed read is a cache miss, and a failed write is dropped.
 */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Figures, MetricsCache } from "../MetricsCache.ts"
import * as Alarms from "../time/Alarms.ts"
import * as SteadyClock from "../time/SteadyClock.ts"
import * as Claims from "./Claims.ts"
import * as Tolerance from "./Tolerance.ts"

export interface TolerantStore {
  /** Returns the figures fetched after `since`, in epoch milliseconds. */
  readonly get: (
    pages: Arr.NonEmptyReadonlyArray<string>,
    since: number,
  ) => Effect.Effect<ReadonlyArray<Figures>>
  /**
   * Queues the figures for a background fiber, which writes them to the store in batches. Does
   * nothing when the queue is full.
   */
  readonly put: (figures: Figures) => void
  /** Runs an effect when the figures that are queued at the call are written or dropped. */
  readonly afterPut: (effect: Effect.Effect<void>) => Effect.Effect<void>
  /** Absent when no other process shares the store. */
  readonly claims: Claims.Claims | undefined
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
    const alarms = yield* Alarms.make
    const tolerant = Tolerance.make({ alarms, timeoutMs: storeTimeoutMs, warn: warnOfStore })
    const patient = Tolerance.make({ alarms, timeoutMs: sharedTimeoutMs, warn: warnOfClaims })
    const waiting = new Map<string, Figures>()
    let afterwards: ReadonlyArray<Effect.Effect<void>> = []
    const claims = Claims.make(cache, { provider, leaseMs, tolerant: patient })
    const putOrDrop = claims === undefined ? tolerant : patient
    const hasWaiting = yield* Effect.makeLatch(false)

    const write = Effect.suspend(() => {
      const [figures, done] = [[...waiting.values()], afterwards]
      waiting.clear()
      afterwards = []
      hasWaiting.unsafeClose()
      // Other work runs between two writes, because a write to SQLite blocks the process.
      return Effect.forEach(
        inPuts(figures),
        (some) =>
          putOrDrop(cache.put(some), undefined).pipe(
            Effect.zipRight(Effect.sync(() => claims?.stored(some))),
            Effect.zipRight(Effect.sleep(0)),
          ),
        { discard: true },
      ).pipe(Effect.zipRight(Effect.all(done, { discard: true })))
    })

    const flush = Tolerance.inDaemon(write)

    const isSteady = SteadyClock.make()
    const sweep = Effect.flatMap(
      Effect.all([Clock.currentTimeMillis, isSteady]),
      ([now, steady]) => (steady ? tolerant(cache.sweep(now - keptMs), undefined) : Effect.void),
    )

    yield* Effect.addFinalizer(() => flush)
    yield* hasWaiting.await.pipe(
      Effect.zipRight(Effect.delay(flush, claims === undefined ? writeDelay : sharedWriteDelay)),
      Effect.forever,
      Effect.forkScoped,
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("10 minutes")))

    return {
      get: (pages, since) => tolerant(cache.get(provider, pages, since), []),
      put: (figures) => {
        if (waiting.size >= maxWaiting) return
        const isBusy = waiting.size >= maxWaitingHistories
        waiting.set(figures.page, isBusy ? { ...figures, history: undefined } : figures)
        hasWaiting.unsafeOpen()
        claims?.storing(figures.page)
      },
      afterPut: (effect) => {
        if (waiting.size === 0) return effect
        afterwards = [...afterwards, effect]
        return Effect.void
      },
      claims,
    }
  })

const warnOfStore = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(
    "The cached figures in the database cannot be read or written. For 5 seconds the service uses only the figures that are cached in memory. To check the database, run 'authority doctor'.",
    cause,
  )

const warnOfClaims = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(
    "The database does not say which figures other processes are buying. For 5 seconds, figures may be bought twice. To check the database, run 'authority doctor'.",
    cause,
  )

const storeTimeoutMs = 1000

/** The same for claims, and for figures for which other processes may wait. */
const sharedTimeoutMs = 5000

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
