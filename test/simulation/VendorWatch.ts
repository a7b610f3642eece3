/**
 * Watches the vendors of one process. A call to a vendor may fail for a target only if a fault
 * affected the call. A lookup of a request may fail for a target only if a call failed for it, if
 * faults kept the vendor from being asked, or if faults used up the request's time. The same holds
 * for stale figures, which are used only in place of a failure. The process must not buy what it
 * knows.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Outcome } from "../../src/check/Metrics.ts"
import { type LookupContext, MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { type Answer, Vendor } from "../../src/providers/Vendor.ts"
import type { Target } from "../../src/check/Target.ts"
import type { Bills } from "./Bills.ts"
import { Call } from "./Call.ts"
import type { Faults } from "./Faults.ts"
import type { Purchases } from "./Purchases.ts"
import type { Process, World } from "./World.ts"

/** The vendor call that a fiber is making. */
export class CurrentCall extends Context.Reference<CurrentCall>()("simulation/CurrentCall", {
  defaultValue: (): { readonly call: Call } => ({
    call: new Call({ name: "", isRunning: false }, "", 0, []),
  }),
}) {}

/** The longest time between two steps of one fiber, which decides whether a call ends in time. */
const slackMs = 150

/** For how many milliseconds after a vendor's fault its circuit may be open. */
const circuitMs = 16_000

/** How many failed calls in a row open a vendor's circuit. */
const circuitFailures = 15

interface Options {
  readonly world: World
  readonly process: Process
  readonly faults: Faults
  /** The purchases of all processes. */
  readonly purchases: Purchases
  readonly bills: Bills
  /** The timeout of a call. */
  readonly callTimeoutMs: number
  /** The timeout of a request. */
  readonly requestTimeoutMs: number
  /** For how long after a purchase the process must not buy the same figures again. */
  readonly knownMs: number
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

export class VendorWatch {
  private readonly calls: Array<Call> = []
  private readonly inFlight = new Set<string>()
  /** The lookups that have not ended yet. */
  private readonly open = new Set<Lookup>()
  /** When known figures expire, by provider and page, on the process's own clock. */
  private readonly known = new Map<string, number>()
  /** The providers that failed for a page of a request. */
  private readonly failed = new Map<string, Set<string>>()
  /** When the process's clock last jumped, in milliseconds of `World.now`. */
  private jumpedAt = Number.NEGATIVE_INFINITY
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** Forgets which figures are known, because a clock that has jumped makes that uncertain. */
  forgetKnown(): void {
    this.known.clear()
    this.jumpedAt = this.options.world.now
  }

  /**
   * Returns true if that many providers failed for a page of a request, or if the store or a frozen
   * process used up the request's time.
   */
  mayFail(requestId: string, page: string, providers: number, startedAt: number): boolean {
    const { faults, process, requestTimeoutMs, world } = this.options
    const isLate = world.now >= startedAt + requestTimeoutMs
    return (
      this.failed.get(`${requestId} ${page}`)?.size === providers ||
      process.thawedAt >= startedAt ||
      (isLate && faults.troubleAt >= startedAt)
    )
  }

  /** Watches the calls of a vendor. */
  readonly vendor = <E, R>(layer: Layer.Layer<Vendor, E, R>) =>
    Layer.map(layer, (services) => {
      const vendor = Context.get(services, Vendor)
      return Context.make(Vendor, {
        ...vendor,
        call: (targets, context) =>
          Effect.suspend(() => {
            const call = this.begin(vendor.name, targets)
            return vendor.call(targets, context).pipe(
              Effect.provideService(CurrentCall, { call }),
              Effect.onExit((exit) => Effect.sync(() => this.end(call, targets, exit))),
            )
          }),
      })
    })

  /** Watches the requests' lookups at a vendor with its cache and queue. */
  readonly lookups = <E, R>(layer: Layer.Layer<MetricsProvider, E, R>) =>
    Layer.map(layer, (services) => {
      const provider = Context.get(services, MetricsProvider)
      return Context.make(MetricsProvider, {
        ...provider,
        lookup: (targets, context) =>
          Effect.suspend(() => {
            const lookup = this.asks(provider.name, targets, context)
            return provider.lookup(targets, context).pipe(
              Effect.tapBoth({
                onSuccess: (outcomes) => Effect.sync(() => this.judgeAll(lookup, outcomes)),
                onFailure: () => Effect.sync(() => this.judgeAll(lookup, [])),
              }),
              Effect.ensuring(Effect.sync(() => this.open.delete(lookup))),
            )
          }),
      })
    })

  private begin(provider: string, targets: NonEmptyReadonlyArray<Target>): Call {
    const { bills, problem, process, purchases, world } = this.options
    const call = new Call(process, provider, world.now, targets)
    bills.begins(call, process)
    for (const page of call.pages.keys()) {
      const id = `${provider} ${page}`
      purchases.begins(call, page, this.wantedAt(provider, page))
      if (this.inFlight.has(id)) problem(`${process.name} buys ${id} twice at once`)
      if (world.now + process.clockAheadMs < (this.known.get(id) ?? 0)) {
        problem(`${process.name} buys ${id}, which it knows`)
      }
      this.inFlight.add(id)
    }
    world.count("targets bought", targets.length)
    this.calls.push(call)
    return call
  }

  /** Returns when the open lookups of a page began. */
  private wantedAt(provider: string, page: string): ReadonlyArray<number> {
    return [...this.open].flatMap((lookup) =>
      lookup.provider === provider && lookup.pages.includes(page) ? [lookup.startedAt] : [],
    )
  }

  private asks(
    provider: string,
    targets: NonEmptyReadonlyArray<Target>,
    { deadline, maxAgeMs, requestId }: LookupContext,
  ): Lookup {
    const lookup = {
      provider,
      requestId,
      startedAt: this.options.world.now,
      deadline,
      hasMaxAge: Number.isFinite(maxAgeMs),
      pages: targets.map(({ page }) => page),
    }
    this.open.add(lookup)
    return lookup
  }

  private judgeAll(lookup: Lookup, outcomes: ReadonlyArray<Outcome>) {
    const { pages, provider, requestId } = lookup
    pages.forEach((page, i) => {
      const outcome = outcomes[i]
      const isStale = outcome?._tag === "Checked" && outcome.source === "stale"
      if (outcome?._tag === "Checked" && !isStale) return
      const key = `${requestId} ${page}`
      if (!isStale) this.failed.set(key, (this.failed.get(key) ?? new Set()).add(provider))
      this.judge(lookup, page)
    })
  }

  private end(
    call: Call,
    targets: NonEmptyReadonlyArray<Target>,
    exit: Exit.Exit<Answer, unknown>,
  ) {
    const { callTimeoutMs, knownMs, problem, process, purchases, world } = this.options
    call.endedAt = world.now
    const isInTime = call.endedAt <= call.startedAt + callTimeoutMs - slackMs
    if (!isInTime || process.thawedAt >= call.startedAt) call.isAnswerLost = true
    const knownUntil = world.now + process.clockAheadMs + knownMs
    targets.forEach(({ domain, page }, i) => {
      const id = `${call.provider} ${page}`
      this.inFlight.delete(id)
      if (Exit.isSuccess(exit) && exit.value.outcomes[i]?._tag === "Checked") {
        call.pages.set(page, true)
        if (!isInTime) return
        this.known.set(id, knownUntil)
        purchases.gives(call, page)
      } else if (
        !call.hasFault &&
        !call.spoilt.has(page) &&
        !call.spoilt.has(domain) &&
        process.thawedAt < call.startedAt
      ) {
        problem(`a call of ${process.name} to ${call.provider} fails for ${page} without a fault`)
      }
    })
  }

  /** Reports a bug when no fault explains that a lookup failed for a page. */
  private judge(lookup: Lookup, page: string) {
    const { callTimeoutMs, faults, problem, process, requestTimeoutMs, world } = this.options
    const { bills } = this.options
    const { deadline, provider, startedAt } = lookup
    if (process.thawedAt >= startedAt) return
    const isStoreTroubled = faults.troubleAt >= startedAt - requestTimeoutMs
    const complain = (what: string) =>
      problem(`a lookup of ${process.name} at ${provider} fails for ${page}, ${what}`)
    const isOf = (call: Call, time: number) => call.provider === provider && call.endedAt >= time
    const all = this.calls.filter((call) => isOf(call, startedAt) && call.pages.has(page))
    // A call that has timed out may end a little later than the lookups that wait for it.
    const endOf = (call: Call) => Math.min(call.endedAt, call.startedAt + callTimeoutMs)
    if (all.some((call) => endOf(call) <= world.now && !call.pages.get(page))) return
    // Figures that a call has just fetched may be too old for the lookup, or may look so after a
    // jump of the clock.
    const own = lookup.hasMaxAge || this.jumpedAt >= startedAt ? [] : all
    const isAnswered = own.some(
      ({ endedAt, startedAt: sentAt }) =>
        endedAt <= Math.min(world.now, deadline) - slackMs &&
        endedAt <= sentAt + callTimeoutMs - slackMs,
    )
    if (isAnswered) return complain("although a call gave its figures in time")
    // A process does not ask a vendor whose ceiling is reached or cannot be checked.
    if (bills.mayNotRead(provider, startedAt)) return
    if (bills.isAtCeiling(provider, lookup.pages.length)) return
    const isLate = world.now >= deadline - slackMs
    // A late lookup has waited for calls and retries that faults delayed. A lookup that is not late
    // may fail without a call during a pause that the vendor asked for, or while the circuit is
    // open.
    const spoilt = this.calls.filter((call) => call.provider === provider && call.isSpoilt)
    const recent = spoilt.filter((call) => isOf(call, startedAt - circuitMs))
    const isAway =
      recent.some(({ asksForPause }) => asksForPause) ||
      (recent.length > 0 && spoilt.length >= circuitFailures)
    const isExcused = isLate
      ? isStoreTroubled || spoilt.some((call) => isOf(call, startedAt - requestTimeoutMs))
      : isAway && own.length === 0
    if (!isExcused) complain("though nothing was wrong")
  }
}

interface Lookup {
  readonly provider: string
  readonly requestId: string
  readonly startedAt: number
  readonly deadline: number
  readonly hasMaxAge: boolean
  readonly pages: ReadonlyArray<string>
}
