/**
 * Watches the vendors of one process. A call to a vendor may fail for a target only when a fault
 * struck the call. A lookup of a request may fail for a target only when a call failed for it, when
 * faults kept the vendor from being asked, or when faults used up the time of the request. The same
 * holds for stale figures, which answer only in place of a failure. The process must not buy what it
 * knows.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Deadline from "../../src/Deadline.ts"
import { Freshness } from "../../src/Freshness.ts"
import type { Outcome } from "../../src/Metrics.ts"
import { MetricsProvider } from "../../src/MetricsProvider.ts"
import type { Target } from "../../src/Target.ts"
import type { Bills } from "./Bills.ts"
import { Call } from "./Call.ts"
import type { Faults } from "./Faults.ts"
import type { Purchases } from "./Purchases.ts"
import type { Process, World } from "./World.ts"

/** The call that a fiber makes. */
export class CurrentCall extends Context.Reference<CurrentCall>()("simulation/CurrentCall", {
  defaultValue: (): { readonly call: Call } => ({
    call: new Call({ name: "", isRunning: false }, "", 0, []),
  }),
}) {}

/** The longest time between two steps of one fiber. It decides whether a call ends in time. */
const slackMs = 150

/** How much longer than the timeout of a call a claim lasts. */
const claimGraceMs = 2000

/** How long after a vendor's fault lookups may fail unasked, because its circuit is open. */
const circuitMs = 40_000

interface Options {
  readonly world: World
  readonly process: Process
  readonly faults: Faults
  /** The purchases of all processes. */
  readonly purchases: Purchases
  readonly bills: Bills
  readonly vendorNames: ReadonlyArray<string>
  /** The timeout of a call. */
  readonly callTimeoutMs: number
  /** The timeout of a request. */
  readonly requestTimeoutMs: number
  /** How long the process must not buy figures anew. */
  readonly knownMs: number
  /** Reports a bug. */
  readonly problem: (text: string) => void
}

export class VendorWatch {
  private readonly calls: Array<Call> = []
  private readonly inFlight = new Set<string>()
  /** When known figures expire, by provider and page; in the process's own time of day. */
  private readonly known = new Map<string, number>()
  /** The providers that failed for a page of a request. */
  private readonly failed = new Map<string, Set<string>>()
  /** When the time of day of the process last jumped, in milliseconds of `World.now`. */
  private jumpedAt = Number.NEGATIVE_INFINITY
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** The clock has jumped, so nobody can say what is known. */
  forgetKnown(): void {
    this.known.clear()
    this.jumpedAt = this.options.world.now
  }

  /**
   * True when so many providers failed for a page of a request, or when the time of the request was
   * used up by the store or by a frozen process.
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

  /**
   * True when each vendor is at its ceiling, or has failed a call for this page alone: then the
   * process may not ask it for the page during ten minutes.
   */
  mayRefuse(page: string): boolean {
    const { bills, vendorNames } = this.options
    return vendorNames.every(
      (name) =>
        bills.isAtCeiling(name) ||
        this.calls.some(
          ({ isSpoilt, pages, provider }) =>
            provider === name && isSpoilt && pages.size === 1 && pages.has(page),
        ),
    )
  }

  /** Watches the calls of a vendor. */
  readonly vendor = wrapped((provider, targets) =>
    Effect.flatMap(sending(this.options.bills), ({ id, remainingMs }) => {
      const call = this.begin(provider.name, targets, id)
      if (remainingMs < -slackMs && this.options.process.thawedAt < call.startedAt - slackMs) {
        this.options.problem(`${this.options.process.name} asks ${provider.name} too late`)
      }
      return provider.lookup(targets).pipe(
        Effect.provideService(CurrentCall, { call }),
        Effect.onExit((exit) => Effect.sync(() => this.end(call, targets, exit))),
      )
    }),
  )

  /** Watches the lookups of requests at a vendor with its cache and queue. */
  readonly lookups = wrapped((provider, targets) =>
    Effect.flatMap(caller, ({ id, maxAgeMs, remainingMs }) => {
      const startedAt = this.options.world.now
      const lookup = {
        provider: provider.name,
        startedAt,
        deadline: startedAt + remainingMs,
        hasMaxAge: Number.isFinite(maxAgeMs),
      }
      const judge = (outcomes: ReadonlyArray<Outcome>) =>
        targets.forEach(({ page }, i) => {
          const outcome = outcomes[i]
          const isStale = outcome?._tag === "Checked" && outcome.source === "stale"
          if (outcome?._tag === "Checked" && !isStale) return
          const key = `${id} ${page}`
          if (!isStale) this.failed.set(key, (this.failed.get(key) ?? new Set()).add(provider.name))
          this.judge(lookup, page)
        })
      return Effect.tapBoth(provider.lookup(targets), {
        onSuccess: (outcomes) => Effect.sync(() => judge(outcomes)),
        onFailure: () => Effect.sync(() => judge([])),
      })
    }),
  )

  private begin(provider: string, targets: NonEmptyReadonlyArray<Target>, purchase: string): Call {
    const { bills, problem, process, purchases, world } = this.options
    const call = new Call(process, provider, world.now, targets)
    purchases.begins(call)
    bills.begins(call, purchase)
    for (const page of call.pages.keys()) {
      const id = `${provider} ${page}`
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

  private end(
    call: Call,
    targets: NonEmptyReadonlyArray<Target>,
    exit: Exit.Exit<ReadonlyArray<Outcome>, unknown>,
  ) {
    const { callTimeoutMs, knownMs, problem, process, purchases, world } = this.options
    call.endedAt = world.now
    const isInTime = call.endedAt <= call.startedAt + callTimeoutMs - slackMs
    if (!isInTime || process.thawedAt >= call.startedAt) call.isAnswerLost = true
    const knownUntil = world.now + process.clockAheadMs + knownMs
    targets.forEach(({ domain, page }, i) => {
      const id = `${call.provider} ${page}`
      this.inFlight.delete(id)
      if (Exit.isSuccess(exit) && exit.value[i]?._tag === "Checked") {
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
    const { bills, purchases } = this.options
    const { deadline, provider, startedAt } = lookup
    if (process.thawedAt >= startedAt) return
    // The lookup may have waited for the claim of a process that died in a call.
    const troubleMs = Math.max(requestTimeoutMs, callTimeoutMs + claimGraceMs)
    const isStoreTroubled = faults.troubleAt >= startedAt - troubleMs
    const complain = (what: string) =>
      problem(`a lookup of ${process.name} at ${provider} fails for ${page}, ${what}`)
    const isOf = (call: Call, time: number) => call.provider === provider && call.endedAt >= time
    const all = this.calls.filter((call) => isOf(call, startedAt) && call.pages.has(page))
    // A call that has timed out may end a little later than the lookups that wait for it.
    const endOf = (call: Call) => Math.min(call.endedAt, call.startedAt + callTimeoutMs)
    if (all.some((call) => endOf(call) <= world.now && !call.pages.get(page))) return
    // What a call has just fetched may be too old for the lookup, or after a jump of the clock.
    const own = lookup.hasMaxAge || this.jumpedAt >= startedAt ? [] : all
    const isAnswered = own.some(
      ({ endedAt, startedAt: sentAt }) =>
        endedAt <= Math.min(world.now, deadline) - slackMs &&
        endedAt <= sentAt + callTimeoutMs - slackMs,
    )
    if (isAnswered) return complain("although a call gave its figures in time")
    // A process that cannot record a call, and one at the ceiling, does not ask the vendor.
    if (bills.hasFailedToRecord(process, provider, startedAt)) return
    if (bills.isAtCeiling(provider)) return
    const isLate = world.now >= deadline - slackMs
    // A late lookup has waited for the calls and retries of others, also of other processes, which
    // faults made long. Other lookups fail unasked while a circuit is open, or because of an earlier refusal.
    const since = startedAt - (isLate ? requestTimeoutMs : circuitMs)
    const asked = isLate ? purchases.calls : this.calls
    const mayFailUnasked =
      (isLate || own.length === 0) &&
      (asked.some((call) => isOf(call, since) && call.isSpoilt) ||
        purchases.calls.some((call) => isOf(call, since) && call.hasAskedForPause))
    if (!mayFailUnasked && !(isLate && isStoreTroubled)) complain("though nothing was wrong")
  }
}

interface Lookup {
  readonly provider: string
  readonly startedAt: number
  readonly deadline: number
  readonly hasMaxAge: boolean
}

type Provider = MetricsProvider["Type"]

/** Replaces the method `lookup` of a provider. */
const wrapped =
  (
    lookup: (
      provider: Provider,
      ...args: Parameters<Provider["lookup"]>
    ) => ReturnType<Provider["lookup"]>,
  ) =>
  <E, R>(layer: Layer.Layer<MetricsProvider, E, R>) =>
    Layer.map(layer, (context) => {
      const provider = Context.get(context, MetricsProvider)
      return Context.make(MetricsProvider, {
        ...provider,
        lookup: (targets) => lookup(provider, targets),
      })
    })

/** The id of the request that a fiber serves; "" when it serves none. */
const requestId = Effect.map(FiberRef.get(FiberRef.currentLogAnnotations), (annotations) =>
  String(Option.getOrElse(HashMap.get(annotations, "requestId"), () => "")),
)

const sending = ({ purchaseOfCall }: Bills) =>
  Effect.all({ id: purchaseOfCall, remainingMs: Deadline.remainingMs })

const caller = Effect.all({ id: requestId, maxAgeMs: Freshness, remainingMs: Deadline.remainingMs })
