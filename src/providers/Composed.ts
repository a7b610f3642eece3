/**
 * How a vendor is asked in earnest: the decorators, in the one order that works.
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
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
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

/** The vendors in the order in which they are asked. */
export const chain = <E, R>(
  vendors: Arr.NonEmptyReadonlyArray<Layer.Layer<MetricsProvider, E, R>>,
  options: Options,
): Layer.Layer<MetricsProvider, E, R | MetricsCache> =>
  Layer.scoped(
    MetricsProvider,
    Effect.map(
      Effect.forEach(vendors, (vendor) =>
        Effect.flatMap(Layer.build(vendor), (context) =>
          decorated(Context.get(context, MetricsProvider), options),
        ),
      ),
      Fallback.make,
    ),
  )

/** One vendor. A provider without a batch size is at home in this process: it is only remembered. */
export const decorated = (
  vendor: Provider,
  options: Options,
): Effect.Effect<Provider, never, MetricsCache | Scope.Scope> =>
  Effect.gen(function* () {
    const { keeps, reads } = Duration.isZero(options.cache.ttl)
      ? { keeps: unchanged, reads: unchanged }
      : yield* Cached.make(vendor.name, options.cache)
    if (vendor.batchSize === undefined) return reads(keeps(vendor))
    const resilient = Resilient.make(vendor, { ...resilience, timeout: options.timeout })
    return reads(
      yield* Coalesced.make(keeps(resilient), { ...queueing, concurrency: options.concurrency }),
    )
  })

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
