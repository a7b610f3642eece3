/**
 * Wraps each vendor in these layers, in the only order that works:
 *
 *     Fallback( Cached.reading( Batched( Resilient( Cached.saving( Counted( vendor )))))), … )
 *
 * - `Fallback` is outermost, because each vendor has its own cache and its own queue.
 * - `Cached.reading` is outside the queue, so a cache hit does not wait in it.
 * - `Batched` is the queue. It makes the calls, so a client that leaves interrupts none.
 * - `Resilient` gives each attempt a timeout, and stops the calls while the vendor is away.
 * - `Cached.saving` is inside the queue: figures are saved before any request gets them, even
 *   if every request has left.
 * - `Counted` is innermost, because the vendor may bill each attempt.
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsCache } from "./figures/MetricsCache.ts"
import { allAsked, MetricsProvider, nothingKnown } from "./MetricsProvider.ts"
import * as Batched from "./Batched.ts"
import * as Cached from "./figures/Cached.ts"
import type { Costs } from "./costs/Costs.ts"
import * as Counted from "./costs/Counted.ts"
import * as Fallback from "./Fallback.ts"
import * as Resilient from "./Resilient.ts"
import { Vendor } from "./Vendor.ts"

export interface Options {
  readonly timeout: Duration.DurationInput
  readonly concurrency: number
  /** How long before the vendor is asked again for an unknown or refused target; default 1 hour. */
  readonly unknownTtl?: Duration.DurationInput
  /** The price of calls to a vendor, and their ceiling. Default: no price and no ceiling. */
  readonly costs?: (provider: string) => Counted.Options
  /** A `ttl` of zero turns the cache off. */
  readonly cache: Cached.Options
}

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

export const decorated = <E, R>(
  vendor: Layer.Layer<Vendor, E, R>,
  options: Options,
): Layer.Layer<MetricsProvider, E, R | MetricsCache | Costs> =>
  Effect.gen(function* () {
    const { cache, concurrency, costs, timeout, unknownTtl = "1 hour" } = options
    const inner = yield* Vendor
    const { reading, saving } = yield* Cached.make(inner.name, cache)
    const counted = yield* Counted.make(inner, costs?.(inner.name))
    const resilient = Resilient.make(saving(counted), { concurrency, timeout })
    return reading(yield* Batched.make(resilient, { concurrency, unknownTtl }))
  }).pipe(Layer.scoped(MetricsProvider), Layer.provide(vendor))

/** Asks the vendor in every lookup, without a queue or a cache: for data on this machine. */
export const undecorated = <E, R>(
  vendor: Layer.Layer<Vendor, E, R>,
): Layer.Layer<MetricsProvider, E, R> =>
  Layer.effect(MetricsProvider, Effect.map(Vendor, asProvider)).pipe(Layer.provide(vendor))

/** The provider that asks a vendor in every lookup. */
export const asProvider = ({ call, name }: Vendor["Type"]): MetricsProvider["Type"] => ({
  name,
  known: nothingKnown,
  prospects: allAsked,
  circuits: Effect.succeed([]),
  lookup: (targets, { account, requestId }) =>
    Effect.map(call(targets, { account, requestIds: [requestId] }), ({ outcomes }) => outcomes),
})
