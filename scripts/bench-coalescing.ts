/**
 * Measures request coalescing with 100,000 checks. Each check is for one of 10,000 hosts, drawn
 * from a Zipf distribution. A fake vendor on real HTTP takes 50 ms per call. Fails unless the
 * vendor is asked for each drawn host exactly once. Prints the latency that coalescing adds to the
 * vendor's call.
 *
 *     node scripts/bench-coalescing.ts [CLIENTS]
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as MemoryMetricsCache from "../src/memory/MetricsCache.ts"
import * as MemoryPurchases from "../src/memory/Purchases.ts"
import { MetricsProvider } from "../src/MetricsProvider.ts"
import * as Composed from "../src/providers/Composed.ts"
import { Target } from "../src/Target.ts"
import * as FakeMoz from "./support/FakeMoz.ts"
import * as FakeVendor from "./support/FakeVendor.ts"
import { quantile } from "./support/quantile.ts"
import { zipf } from "./support/zipf.ts"

const checks = 100_000
const hosts = 10_000
/** The number of concurrent requests. */
const clients = Number(process.argv[2] ?? 50)
const vendorMs = 50

const options: Composed.Options = {
  timeout: "10 seconds",
  concurrency: 4,
  cache: { ttl: Duration.hours(24), capacity: 100_000 },
}

const print = (what: string, latencies: ReadonlyArray<number>) => {
  const at = (share: number) => `${quantile(latencies, share).toFixed(2)} ms`
  console.log(`${what}: ${latencies.length}, added p50 ${at(0.5)}, p99 ${at(0.99)}`)
}

const bench = Effect.gen(function* () {
  const moz = yield* FakeMoz.make
  moz.always(FakeVendor.delay(vendorMs))
  /** For each page, the duration of the vendor call that contained it, in milliseconds. */
  const callMs = new Map<string, number>()
  const timed = Layer.map(moz.layer, (context) => {
    const vendor = Context.get(context, MetricsProvider)
    return Context.make(MetricsProvider, {
      ...vendor,
      lookup: (targets) =>
        Effect.map(Effect.timed(vendor.lookup(targets)), ([took, outcomes]) => {
          for (const { page } of targets) callMs.set(page, Duration.toMillis(took))
          return outcomes
        }),
    })
  })
  const provider = Context.get(
    yield* Layer.build(
      Composed.decorated(timed, options).pipe(
        Layer.provide([MemoryMetricsCache.layer, MemoryPurchases.layer]),
      ),
    ),
    MetricsProvider,
  )
  const draw = zipf(hosts)
  const load = Array.from({ length: checks }, () =>
    Either.getOrThrow(Target.parse(`host-${draw()}.example.com`)),
  )
  const bought: Array<number> = []
  const remembered: Array<number> = []
  const seen = new Set<string>()
  const startedAt = performance.now()

  yield* Effect.forEach(
    load,
    (target) =>
      Effect.suspend(() => {
        const askedAt = performance.now()
        const isNew = !seen.has(target.page)
        seen.add(target.page)
        return Effect.map(provider.lookup([target]), ([outcome]) => {
          if (outcome?._tag !== "Checked") throw new Error(`${target.page} has no figures`)
          const ms = performance.now() - askedAt
          if (isNew) bought.push(ms - (callMs.get(target.page) ?? 0))
          else remembered.push(ms)
        })
      }),
    { concurrency: clients, discard: true },
  )

  const seconds = (performance.now() - startedAt) / 1000
  console.log(`${checks} checks in ${seconds.toFixed(1)} s by ${clients} clients`)
  console.log(`${seen.size} hosts, ${moz.rows()} rows in ${moz.calls.length} calls`)
  print("first check of a host", bought)
  print("cached or in flight", remembered)
  if (moz.rows() !== seen.size) {
    throw new Error(
      `the vendor was asked for ${moz.rows()} hosts, but ${seen.size} hosts were drawn`,
    )
  }
})

await Effect.runPromise(Effect.scoped(bench))
