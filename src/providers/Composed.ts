/**
 * The decorators around the vendors, in the one order that works:
 *
 *     Fallback( Cached.readThrough( Coalesced( Cached.writeThrough( Resilient( vendor )))), … )
 *
 * - `Fallback` is outermost. Figures are kept under the name of their vendor, and each vendor has a
 *   queue of its own.
 * - `Cached.readThrough` stands before the queue, so that known figures neither wait nor take a slot.
 * - `Coalesced` surrounds everything that costs. Its calls belong to no request, so a client that
 *   leaves interrupts none. Only the queue knows whose turn is next, so it limits the calls at a time.
 * - `Cached.writeThrough` stands within it. Figures are kept before anybody gets them; otherwise a
 *   request could find neither the queue nor the cache and buy them again.
 * - `Resilient` is innermost. Its timeout is for one call, without the wait in the queue. What a
 *   repeated call gives is kept once.
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsCache } from "../MetricsCache.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import * as Cached from "./Cached.ts"
import * as Coalesced from "./Coalesced.ts"
import * as Fallback from "./Fallback.ts"
import * as Resilient from "./Resilient.ts"

type Provider = MetricsProvider["Type"]

export interface Options {
  /** Of one call to a vendor. */
  readonly timeout: Duration.DurationInput
  /** Calls to one vendor at a time. */
  readonly concurrency: number
  /** A time to live of zero keeps nothing. */
  readonly cache: Cached.Options
}

/** The providers in the order in which they are asked. */
export const chain = <E, R>(
  providers: Arr.NonEmptyReadonlyArray<Layer.Layer<MetricsProvider, E, R>>,
): Layer.Layer<MetricsProvider, E, R> =>
  Layer.scoped(
    MetricsProvider,
    Effect.map(
      Effect.forEach(providers, (layer) =>
        Effect.map(Layer.build(layer), (context) => Context.get(context, MetricsProvider)),
      ),
      Fallback.make,
    ),
  )

/** For a vendor, where every call costs time and money. */
export const decorated = <E, R>(
  vendor: Layer.Layer<MetricsProvider, E, R>,
  options: Options,
): Layer.Layer<MetricsProvider, E, R | MetricsCache> =>
  Effect.gen(function* () {
    const provider = yield* MetricsProvider
    const { writeThrough, readThrough } = yield* memoryOf(provider, options)
    const resilient = Resilient.make(provider, { ...resilience, timeout: options.timeout })
    const { concurrency } = options
    return readThrough(yield* Coalesced.make(writeThrough(resilient), { ...queueing, concurrency }))
  }).pipe(Layer.scoped(MetricsProvider), Layer.provide(vendor))

const memoryOf = ({ name }: Provider, { cache }: Options) =>
  Duration.isZero(cache.ttl)
    ? Effect.succeed({ writeThrough: unchanged, readThrough: unchanged })
    : Cached.make(name, cache)

const unchanged = (provider: Provider) => provider

const queueing = {
  window: Duration.millis(2),
  lineCapacity: 10_000,
}

const resilience = {
  retries: 3,
  failures: 5,
  cooldown: Duration.seconds(15),
  // Moz throttles an account after 50 in five minutes; no other vendor minds the same caution.
  refusals: { max: 40, per: Duration.minutes(5) },
}
