/**
 * Puts the decorators around the vendors, in the only order that works:
 *
 *     Fallback( Cached.readThrough( Coalesced( Cached.writeThrough( Resilient( Purchased( Timed( vendor )))))), … )
 *
 * - `Fallback` is outermost, because each vendor has its own cache and its own queue.
 * - `Cached.readThrough` is outside the queue, so a cache hit neither waits in the queue nor counts
 *   as one of the concurrent calls.
 * - `Coalesced` is the queue of calls to the vendor. It lets the accounts take turns and limits the
 *   number of concurrent calls. The queue makes the calls, not a request, so a client that hangs up
 *   interrupts no call.
 * - `Cached.writeThrough` is inside the queue and saves figures before any request gets them.
 *   Otherwise a request could miss both the queue and the cache, and buy the same figures again.
 *   The queue looks into the cache once more before it takes a target. On a store that processes
 *   share, it claims the targets of a call, and leaves out those that another process is buying.
 * - `Resilient` retries a call inside of the cache, so the result of a retried call is saved once.
 * - `Purchased` is inside `Resilient`, because each attempt of a call may be billed.
 * - `Timed` is innermost: the time in the queue and the commit of a purchase are not the vendor's.
 *
 * To add a vendor: write `providers/Vendor.ts` like `Moz.ts`, add the vendor's name and settings to
 * `Settings.ts`, and build the vendor in `cli/Providers.ts`. The compiler then reports the other
 * places to change.
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MetricsCache } from "../MetricsCache.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import type { Purchases } from "../Purchases.ts"
import { Blame } from "./Blame.ts"
import { CallLog } from "./CallLog.ts"
import * as Cached from "./Cached.ts"
import * as Coalesced from "./Coalesced.ts"
import * as Fallback from "./Fallback.ts"
import { Limit } from "./Limit.ts"
import * as Purchased from "./Purchased.ts"
import * as Resilient from "./Resilient.ts"
import * as Timed from "./Timed.ts"
import * as Alarms from "../time/Alarms.ts"

type Provider = MetricsProvider["Type"]

export interface Options {
  /** Timeout of one call to a vendor. */
  readonly timeout: Duration.DurationInput
  /** Upper limit of concurrent calls to one vendor. `Limit` finds how many the vendor bears. */
  readonly concurrency: number
  /** How long the vendor is not asked again for a target that it does not know; default 1 hour. */
  readonly unknownTtl?: Duration.DurationInput
  /** A `ttl` of zero turns the cache off. */
  readonly cache: Cached.Options
  /** What the operator allows the vendor of this name to cost. Default: no ceiling and no price. */
  readonly purchases?: (provider: string) => Purchased.Options
}

/** A fallback chain. The providers are asked in the given order. */
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

/** Puts cache, queue, timeout, retries and circuit breaker around a vendor. */
export const decorated = <E, R>(
  vendor: Layer.Layer<MetricsProvider, E, R>,
  options: Options,
): Layer.Layer<MetricsProvider, E, R | MetricsCache | Purchases> =>
  Effect.gen(function* () {
    const provider = yield* MetricsProvider
    const { readThrough, writeThrough, ...memory } = yield* memoryOf(provider, options)
    const { concurrency, timeout, unknownTtl = "1 hour" } = options
    const blame = new Blame(resilience.refusals.max, unknownTtl)
    const shared = { blame, limit: new Limit(concurrency), log: new CallLog() }
    const timed = Timed.make(provider, { timeout, alarms: yield* Alarms.make, ...shared })
    const purchased = yield* Purchased.make(timed, options.purchases?.(provider.name))
    const resilient = Resilient.make(purchased, { ...resilience, timeout, ...shared })
    const queue = { ...queueing, ...shared, ...memory }
    return readThrough(yield* Coalesced.make(writeThrough(resilient), queue))
  }).pipe(Layer.scoped(MetricsProvider), Layer.provide(vendor))

const memoryOf = ({ hasHistory = false, name }: Provider, { cache, timeout }: Options) =>
  Duration.isZero(cache.ttl)
    ? Effect.succeed({ writeThrough: unchanged, readThrough: unchanged })
    : Cached.make(name, {
        hasVendorHistory: hasHistory,
        claimLease: Duration.sum(Duration.decode(timeout), "2 seconds"),
        ...cache,
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
  // Moz throttles an account after more than 50 refused calls in five minutes. So the circuit
  // opens, and calls stop, after 40 refused calls. These limits also suit other vendors.
  refusals: { max: 40, tolerated: 50, per: Duration.minutes(5) },
}
