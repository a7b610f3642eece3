/**
 * Two vendors at the other end of the wire, behind their real adapters: Moz has figures for pages,
 * and Open PageRank, the fallback, has figures for domains.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Metrics } from "../../src/Metrics.ts"
import { MetricsCache } from "../../src/MetricsCache.ts"
import { MetricsProvider } from "../../src/MetricsProvider.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as Exchange from "../../src/providers/Exchange.ts"
import * as Moz from "../../src/providers/Moz.ts"
import * as OpenPageRank from "../../src/providers/OpenPageRank.ts"
import * as SqlMetricsCache from "../../src/sql/MetricsCache.ts"
import type { Target } from "../../src/Target.ts"
import type { Faults } from "./Faults.ts"
import { Random } from "./Random.ts"
import { never, type Process, type World } from "./World.ts"

const mozUrl = "https://moz.invalid/jsonrpc"
const openPageRankUrl = "https://open-page-rank.invalid/"

/** How long figures stay in the cache. */
const ttlMs = 10 * 60_000

/** A call fails when it takes longer than this. */
const callTimeoutMs = 1200

/** After this many refusals a vendor refuses no more. More would keep its circuit open for long. */
const maxRefusals = 30

/** A whole number from 0 to 100 that belongs to the name. */
const figure = (name: string, salt: number): number => {
  let hash = salt
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % 101
}

const mozFigures = (page: string) => ({
  domain_authority: figure(page, 1),
  page_authority: figure(page, 2),
  spam_score: figure(page, 3),
})

const rankOf = (domain: string) => figure(domain, 4) / 10

/** True when one of the vendors has these figures for the target. */
export const isRight = ({ domain, page }: Target, metrics: Metrics): boolean => {
  const moz = mozFigures(page)
  const rank = rankOf(domain) * 10
  return (
    (metrics.domainAuthority === moz.domain_authority &&
      metrics.pageAuthority === moz.page_authority &&
      metrics.spamScore === moz.spam_score) ||
    (metrics.domainAuthority === rank && metrics.pageAuthority === rank)
  )
}

export interface Options {
  readonly world: World
  readonly process: Process
  readonly faults: Faults
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

/** The vendors as one process sees them. */
export const make = ({ faults, problem, process, world }: Options) => {
  const { name } = process
  const random = new Random(world.seed, 202 + name.length)
  let refusals = 0
  /** When a vendor last had trouble; milliseconds of `World.now`. */
  let troubleAt = Number.NEGATIVE_INFINITY
  /**
   * When the cached figures of a page expire, by provider and page; in the process's own time of
   * day.
   */
  const known = new Map<string, number>()
  const inFlight = new Set<string>()

  const trouble = () => {
    troubleAt = world.now
  }

  const reply = (status: number, body: unknown, headers = {}): Exchange.HttpResponse => ({
    status,
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  })

  const failing = (): Exchange.HttpResponse | undefined => {
    if (faults.strikes("vendor: Timeout", name)) return reply(408, {})
    if (faults.strikes("vendor: Unavailable", name)) return reply(503, {})
    if (faults.strikes("vendor: Malformed", name)) return reply(200, "<html>")
    if (refusals >= maxRefusals) return undefined
    if (faults.strikes("vendor: Refused", name)) return refused(403, {})
    if (faults.strikes("vendor: Throttled", name)) {
      return refused(429, random.chance(0.5) ? {} : { "retry-after": `${random.between(1, 5)}` })
    }
    return undefined
  }

  const refused = (status: number, headers: Readonly<Record<string, string>>) => {
    refusals++
    return reply(status, {}, headers)
  }

  /** The rows of an answer: the vendor may send them in another order, or leave some out. */
  const rowsOf = <A>(rows: ReadonlyArray<A>): ReadonlyArray<A> => {
    const isShort = faults.strikes("vendor: too few rows", name)
    if (isShort) trouble()
    const kept = isShort ? rows.slice(0, random.below(rows.length)) : rows
    return rows.length > 1 && faults.strikes("vendor: wrong order", name) ? kept.toReversed() : kept
  }

  const offTheScale = () => {
    const isOff = faults.strikes("vendor: off the scale", name)
    if (isOff) trouble()
    return isOff
  }

  const answerMoz = (body: string) => {
    const { id, params } = decodeMoz(body)
    const rows = params.data.site_queries.map((query) => ({
      site_query: { original_site_query: query },
      site_metrics: {
        ...mozFigures(query.query.replace("https://", "")),
        ...(offTheScale() && { page_authority: 101 }),
      },
    }))
    return reply(200, { jsonrpc: "2.0", id, result: { results_by_site: rowsOf(rows) } })
  }

  const answerOpenPageRank = (body: string) => {
    const rows = decodeOpenPageRank(body).domains.map((domain) => ({
      domain,
      found: true,
      open_page_rank: offTheScale() ? 11 : rankOf(domain),
    }))
    return reply(200, { as_of: "2026-09-01", results: rowsOf(rows), invalid: [] })
  }

  const delayMs = () => {
    if (faults.strikes("vendor: slow", name)) return random.between(300, callTimeoutMs - 200)
    return faults.strikes("vendor: late", name)
      ? random.between(callTimeoutMs - 100, 8000)
      : random.between(5, 120)
  }

  const send = ({ body = "", url }: Exchange.HttpRequest) =>
    Effect.gen(function* () {
      world.note(name, `asks ${url.startsWith(mozUrl) ? "Moz" : "Open PageRank"}`)
      if (faults.strikes("vendor: silent", name)) {
        return yield* Effect.ensuring(never, Effect.sync(trouble))
      }
      const ms = delayMs()
      if (ms > 200) yield* Effect.ensuring(Effect.sleep(ms), Effect.sync(trouble))
      else yield* Effect.sleep(ms)
      if (faults.strikes("vendor: Unreachable", name)) {
        trouble()
        return yield* new Exchange.Broken({ cause: { code: "ECONNRESET" } })
      }
      const failure = failing()
      if (failure !== undefined) trouble()
      return failure ?? (url === mozUrl ? answerMoz(body) : answerOpenPageRank(body))
    })

  /** Reports a target that is bought twice at once, or although the process knows its figures. */
  const watched = <E, R>(vendor: Layer.Layer<MetricsProvider, E, R>) =>
    Layer.map(vendor, (context) => {
      const provider = Context.get(context, MetricsProvider)
      const lookup = (targets: NonEmptyReadonlyArray<Target>) =>
        Effect.suspend(() => {
          const ids = targets.map(({ page }) => `${provider.name} ${page}`)
          for (const id of ids) {
            if (inFlight.has(id)) problem(`${name} buys ${id} twice at once`)
            if (world.now + process.clockAheadMs < (known.get(id) ?? 0)) {
              problem(`${name} buys ${id}, which it knows`)
            }
            inFlight.add(id)
          }
          world.count("targets bought", targets.length)
          const end = Effect.sync(() => ids.forEach((id) => inFlight.delete(id)))
          return Effect.ensuring(provider.lookup(targets), end)
        })
      return Context.make(MetricsProvider, { ...provider, lookup })
    })

  const options = {
    timeout: callTimeoutMs,
    concurrency: 2,
    cache: { ttl: Duration.millis(ttlMs), capacity: 1000 },
  }
  const provider = Composed.chain([
    Composed.decorated(watched(Moz.layer({ url: mozUrl, token: secret })), options),
    Composed.decorated(watched(OpenPageRank.layer({ url: openPageRankUrl, key: secret })), options),
  ])

  /**
   * Notes which figures the process knows. It has them in memory before it writes them to this
   * cache.
   */
  const cache = Layer.map(SqlMetricsCache.layer, (context) => {
    const cache = Context.get(context, MetricsCache)
    const put: typeof cache.put = (figures) => {
      for (const { fetchedAt, page, provider } of figures) {
        known.set(`${provider} ${page}`, fetchedAt + ttlMs)
      }
      return cache.put(figures)
    }
    return Context.make(MetricsCache, { ...cache, put })
  })

  return {
    layer: Layer.provide(provider, cache),
    exchange: { send },
    /** When a vendor last had trouble with a call of this process. */
    troubleAt: () => troubleAt,
    /** The clock has jumped, so nobody can say what is known. */
    forgetKnown: () => known.clear(),
  }
}

export type Vendors = ReturnType<typeof make>

const secret = Redacted.make("secret")

const decodeOpenPageRank = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ domains: Schema.Array(Schema.String) })),
)

const decodeMoz = Schema.decodeUnknownSync(
  Schema.parseJson(
    Schema.Struct({
      id: Schema.String,
      params: Schema.Struct({
        data: Schema.Struct({
          site_queries: Schema.Array(Schema.Struct({ query: Schema.String })),
        }),
      }),
    }),
  ),
)
