/**
 * How providers are asked in earnest: the decorators, in the one order that works.
 *
 *     Fallback( Cached.reads( Coalesced( Cached.keeps( Resilient( vendor )))), … )
 *
 * - `Fallback` outermost: figures are kept under the name of the vendor they come from, and each
 *   vendor has a queue of its own.
 * - `Cached.reads` before the queue: what is known neither waits for a slot nor takes one.
 * - `Coalesced` around everything that costs: its calls belong to no request, so that a client
 *   that leaves interrupts none. It alone limits the calls at a time, for only the queue knows whose
 *   turn is next.
 * - `Cached.keeps` within it: figures are known before anybody hears of them, so nobody can find the
 *   queue and the memory both empty and buy them again.
 * - `Resilient` innermost: its timeout is for one call and not for waiting, and what a call that is
 *   tried again brings is kept once.
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
export const bought = <E, R>(
  vendor: Layer.Layer<MetricsProvider, E, R>,
  options: Options,
): Layer.Layer<MetricsProvider, E, R | MetricsCache> =>
  Effect.gen(function* () {
    const provider = yield* MetricsProvider
    const { keeps, reads } = yield* memoryOf(provider, options)
    const resilient = Resilient.make(provider, { ...resilience, timeout: options.timeout })
    const { concurrency } = options
    return reads(yield* Coalesced.make(keeps(resilient), { ...queueing, concurrency }))
  }).pipe(Layer.scoped(MetricsProvider), Layer.provide(vendor))

const memoryOf = ({ name }: Provider, { cache }: Options) =>
  Duration.isZero(cache.ttl)
    ? Effect.succeed({ keeps: unchanged, reads: unchanged })
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
