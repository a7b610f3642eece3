/**
 * Two simulated vendors behind their real adapters: Moz has figures for pages, and Open PageRank,
 * the fallback, has figures for domains. All figures carry the time at which they were bought.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Metrics } from "../../src/check/Metrics.ts"
import * as Composed from "../../src/providers/Composed.ts"
import * as Exchange from "../../src/providers/vendors/Exchange.ts"
import * as Moz from "../../src/providers/vendors/Moz.ts"
import * as SqlCosts from "../../src/providers/costs/SqlCosts.ts"
import * as OpenPageRank from "../../src/providers/vendors/OpenPageRank.ts"
import type { Vendor } from "../../src/providers/Vendor.ts"
import * as SqlMetricsCache from "../../src/providers/figures/SqlMetricsCache.ts"
import type { Target } from "../../src/check/Target.ts"
import type { Bills } from "./Bills.ts"
import type { Faults } from "./Faults.ts"
import type { Purchases } from "./Purchases.ts"
import { Random } from "./Random.ts"
import type { Call } from "./Call.ts"
import { CurrentCall, VendorWatch } from "./VendorWatch.ts"
import { never, type Process, type World } from "./World.ts"

const mozUrl = "https://moz.invalid/jsonrpc"
const openPageRankUrl = "https://open-page-rank.invalid/"

/** The settings of a world, in milliseconds. */
export const settingsOf = ({ seed }: World) => {
  const random = new Random(seed, 505)
  return {
    /** How long figures stay in the cache. In some worlds they expire soon. */
    ttlMs: random.pick([2000, 5000, 10 * 60_000]),
    /** The timeout of a call. In some worlds it is longer than that of a request. */
    callTimeoutMs: random.pick([1200, 2400]),
    /** For how long past their lifetime figures may still be used when a vendor fails. */
    staleIfErrorMs: random.pick([0, 3000, 6000]),
    /** Figures younger than this are not bought again. */
    minAgeMs: random.pick([0, 700]),
    /** True if clients name the greatest age of figures that they accept. */
    hasMaxAge: random.chance(0.3),
    /**
     * The most rows that may be bought from Moz in a month. Each world spans the end of a month.
     */
    mozCeiling: random.pick([undefined, undefined, 10, 20]),
  }
}

/** For how many milliseconds after a purchase figures must not be bought again. */
export const knownMsOf = (world: World) => {
  const { hasMaxAge, minAgeMs, ttlMs } = settingsOf(world)
  return hasMaxAge ? minAgeMs : ttlMs
}

/**
 * Returns the most rows that may be bought from a vendor in a month. The fallback has no ceiling.
 */
export const ceilingOf = (world: World, provider: string) =>
  provider === "moz" ? settingsOf(world).mozCeiling : undefined

/** The names of the vendors in the chain. */
export const vendorNames = ["moz", "open-page-rank"] as const

/**
 * After this many refusals, a vendor refuses no more calls, because more would keep its circuit
 * open for long.
 */
const maxRefusals = 30

/** Returns a whole number from 0 to 99 that depends only on the name and the salt. */
const wholeFigure = (name: string, salt: number): number => {
  let hash = salt
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % 100
}

/**
 * For how many milliseconds vendors give the same figures. The two decimals of a figure count these
 * periods.
 */
export const periodMs = 400

/** Returns a figure that depends on the name and on the time since the start of the world. */
const figure = (name: string, salt: number, elapsedMs: number): number =>
  wholeFigure(name, salt) + (Math.floor(elapsedMs / periodMs) % 100) / 100

const mozFigures = (page: string, elapsedMs: number) => ({
  domain_authority: figure(page, 1, elapsedMs),
  page_authority: figure(page, 2, elapsedMs),
  spam_score: figure(page, 3, elapsedMs),
})

const rankOf = (domain: string, elapsedMs: number) => figure(domain, 4, elapsedMs) / 10

/** Returns true if one of the vendors had these figures for the target at that time. */
const isOf = ({ domain, page }: Target, metrics: Metrics, elapsedMs: number): boolean => {
  const moz = mozFigures(page, elapsedMs)
  const rank = figure(domain, 4, elapsedMs)
  return (
    (metrics.domainAuthority === moz.domain_authority &&
      metrics.pageAuthority === moz.page_authority &&
      metrics.spamScore === moz.spam_score) ||
    (metrics.domainAuthority === rank && metrics.pageAuthority === rank)
  )
}

/**
 * Returns the latest time at which the figures of a target can have been bought, in milliseconds of
 * `World.now`; undefined if no vendor ever had these figures for the target.
 */
export const boughtAt = (world: World, target: Target, metrics: Metrics): number | undefined => {
  const period = Math.round((metrics.domainAuthority % 1) * 100)
  const now = Math.floor(world.elapsedMs / periodMs)
  const elapsedMs = (now - ((now - period + 100) % 100)) * periodMs
  if (elapsedMs < 0 || !isOf(target, metrics, elapsedMs)) return undefined
  return Math.min(world.now, world.now - world.elapsedMs + elapsedMs + periodMs)
}

interface Options {
  readonly world: World
  readonly process: Process
  readonly faults: Faults
  readonly purchases: Purchases
  readonly bills: Bills
  readonly requestTimeoutMs: number
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

/** The vendors as one process sees them. */
export const make = (options: Options) => {
  const { faults, process, world } = options
  const { name } = process
  const random = new Random(world.seed, 202 + name.length)
  const { callTimeoutMs, minAgeMs, staleIfErrorMs, ttlMs } = settingsOf(world)
  const watch = new VendorWatch({
    ...options,
    callTimeoutMs,
    knownMs: knownMsOf(world),
  })
  let refusals = 0

  const reply = (status: number, body: unknown, headers = {}): Exchange.HttpResponse => ({
    status,
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  })

  const soon = () => ({ "retry-after": `${random.between(1, 5)}` })

  const failing = (call: Call): Exchange.HttpResponse | undefined => {
    if (faults.strikes("vendor: Timeout", name)) return refused(call, 408)
    if (faults.strikes("vendor: Unavailable", name)) {
      return random.chance(0.5) ? refused(call, 503) : hiding(call, reply(502, {}))
    }
    if (faults.strikes("vendor: Malformed", name)) return hiding(call, reply(200, "<html>"))
    if (refusals >= maxRefusals) return undefined
    const isRefused = faults.strikes("vendor: Refused", name)
    const isThrottled = !isRefused && faults.strikes("vendor: Throttled", name)
    if (!isRefused && !isThrottled && !faults.strikes("vendor: Exhausted", name)) return undefined
    refusals++
    if (isRefused) return refused(call, 403)
    // A 429 of Open PageRank without `Retry-After` means that the quota is used up for long.
    call.asksForPause = !isThrottled || call.provider !== "moz" || random.chance(0.5)
    return refused(call, isThrottled ? 429 : 402, call.asksForPause ? soon() : {})
  }

  /** Returns a refusal, for which the vendor bills nothing. */
  const refused = (call: Call, status: number, headers = {}) => {
    call.billedRows = 0
    return reply(status, {}, headers)
  }

  /** Returns an answer that does not show that the vendor bills the call. */
  const hiding = (call: Call, response: Exchange.HttpResponse) => {
    call.isAnswerLost = true
    return response
  }

  /**
   * Makes the rows of an answer. The vendor may change their order, leave some out, or send figures
   * off the scale.
   */
  const rowsOf = <A>(
    call: Call,
    names: ReadonlyArray<string>,
    rowOf: (name: string, isOffTheScale: boolean) => A,
  ): ReadonlyArray<A> => {
    const isShort = faults.strikes("vendor: too few rows", name)
    const kept = isShort ? names.slice(0, random.below(names.length)) : names
    for (const missing of names.slice(kept.length)) call.spoilt.add(missing)
    const rows = kept.map((each) => {
      const isOffTheScale = faults.strikes("vendor: off the scale", name)
      if (isOffTheScale) call.spoilt.add(each)
      return rowOf(each, isOffTheScale)
    })
    return rows.length > 1 && faults.strikes("vendor: wrong order", name) ? rows.toReversed() : rows
  }

  const answerMoz = (call: Call, body: string) => {
    const { id } = decodeMoz(body)
    const pages = pagesOf(body)
    const results_by_site = rowsOf(call, pages, (page, isOffTheScale) => ({
      site_query: { original_site_query: { query: `https://${page}` } },
      site_metrics: {
        ...mozFigures(page, world.elapsedMs),
        ...(isOffTheScale && { page_authority: 101 }),
      },
    }))
    call.billedRows = results_by_site.length
    return reply(200, { jsonrpc: "2.0", id, result: { results_by_site } })
  }

  const answerOpenPageRank = (call: Call, body: string) => {
    const { domains } = decodeOpenPageRank(body)
    const results = rowsOf(call, domains, (domain, isOffTheScale) => ({
      domain,
      found: true,
      open_page_rank: isOffTheScale ? 11 : rankOf(domain, world.elapsedMs),
    }))
    return reply(200, { as_of: "2026-09-01", count: results.length, results, invalid: [] })
  }

  const delayMs = () => {
    if (faults.strikes("vendor: slow", name)) return random.between(300, callTimeoutMs - 200)
    return faults.strikes("vendor: late", name)
      ? random.between(callTimeoutMs - 100, 8000)
      : random.between(5, 120)
  }

  /**
   * Answers Moz's free calls, which ask for the remaining rows and for the index. No fault affects
   * them.
   */
  const answerFree = (body: string) =>
    reply(200, {
      jsonrpc: "2.0",
      id: decodeMoz(body).id,
      result: { quota: { allotted: 1000, used: 0 }, index_id: "2027-01" },
    })

  const send = ({ body = "", url }: Exchange.HttpRequest) =>
    Effect.gen(function* () {
      const isMoz = url === mozUrl
      if (isMoz && pagesOf(body).length === 0) return answerFree(body)
      const { call } = yield* CurrentCall
      // Until an answer shows what the call costs, it counts as one row for each name.
      call.billedRows = isMoz ? pagesOf(body).length : decodeOpenPageRank(body).domains.length
      call.isAnswerLost = true
      world.note(name, `asks ${isMoz ? "Moz" : "Open PageRank"}`)
      if (faults.strikes("vendor: silent", name)) {
        call.hasFault = true
        return yield* never
      }
      const ms = delayMs()
      call.hasFault = ms > 200
      yield* Effect.sleep(ms)
      call.isAnswerLost = false
      if (faults.strikes("vendor: Unreachable", name)) {
        call.hasFault = true
        const isReached = random.chance(0.5)
        call.isAnswerLost = isReached
        if (!isReached) call.billedRows = 0
        const code = isReached ? "ECONNRESET" : "ECONNREFUSED"
        return yield* new Exchange.Broken({ cause: { code } })
      }
      const failure = failing(call)
      if (failure !== undefined) call.hasFault = true
      return failure ?? (isMoz ? answerMoz(call, body) : answerOpenPageRank(call, body))
    })

  const costs = (provider: string) => {
    const rows = ceilingOf(world, provider)
    return { ceiling: rows === undefined ? undefined : { rows, setting: "the ceiling" } }
  }
  const decorators = {
    timeout: callTimeoutMs,
    concurrency: 2,
    costs,
    cache: {
      ttl: Duration.millis(ttlMs),
      minAge: minAgeMs,
      staleIfError: staleIfErrorMs,
      capacity: 1000,
    },
  }
  const watched = <E, R>(vendor: Layer.Layer<Vendor, E, R>) =>
    watch.lookups(Composed.decorated(watch.vendor(vendor), decorators))
  const provider = Composed.chain([
    watched(Moz.layer({ url: mozUrl, token: secret })),
    watched(OpenPageRank.layer({ url: openPageRankUrl, key: secret })),
  ])

  return {
    layer: Layer.provide(provider, Layer.merge(SqlMetricsCache.layer, SqlCosts.layer)),
    exchange: { send },
    watch,
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
          site_queries: Schema.optionalWith(Schema.Array(Schema.Struct({ query: Schema.String })), {
            default: () => [],
          }),
        }),
      }),
    }),
  ),
)

const pagesOf = (body: string) =>
  decodeMoz(body).params.data.site_queries.map(({ query }) => query.replace("https://", ""))
