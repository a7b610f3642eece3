/**
 * Circuit breaker for one vendor. After several failures in a row, the circuit opens and calls fail
 * at once. After the cooldown, one trial call goes through. If the trial call succeeds, the circuit
 * closes. The circuit also opens when the vendor has refused too many calls within a certain time,
 * because some vendors then throttle the whole account.
 *
 * A provider whose quota or ceiling is used up is exhausted. It is not asked until the period that it names
 * ends, or for ten minutes. Then one trial call goes through.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Circuit, ProviderError } from "../MetricsProvider.ts"
import { longestPauseMs } from "../Purchases.ts"
import { type Blame, isRefusal } from "./Blame.ts"
import type { Limit } from "./Limit.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"

export interface Options {
  /** Opens the circuit after this many failures in a row. */
  readonly failures: number
  /**
   * How long the circuit stays open before a trial call. If the last error has a longer
   * `retryAfter`, the circuit stays open for that time instead.
   */
  readonly cooldown: Duration.DurationInput
  /**
   * Keeps the circuit open while at least `max` calls have failed with a 4xx status
   * within the time `per`, counted back from now. Calls in flight may be refused too: with them,
   * there are never more than `tolerated`.
   */
  readonly refusals: {
    readonly max: number
    readonly tolerated: number
    readonly per: Duration.DurationInput
  }
  readonly limit: Limit
  /** Failures of one account do not open the circuit while the vendor answers others. */
  readonly blame: Blame
}

export interface Vendor {
  readonly name: string
  /**
   * Asks the vendor, free of charge, in how many milliseconds a used-up quota is renewed. None when
   * the vendor does not say, or when its quota is not used up.
   */
  readonly renewalMs: Effect.Effect<Option.Option<number>>
}

/** The circuit is open, so no call was made. `message` says why. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{
  readonly message: string
  readonly isExhausted: boolean
}> {}

export interface CircuitBreaker {
  /**
   * Runs the call for so many targets when the circuit is closed or a trial is due. Otherwise fails
   * with CircuitOpen.
   */
  readonly guard: <A>(
    call: Effect.Effect<A, ProviderError>,
    targets: number,
  ) => Effect.Effect<A, ProviderError | CircuitOpen>
  readonly state: Effect.Effect<Pick<Circuit, "openReason" | "isExhausted" | "isPaused">>
}

/**
 * Makes a breaker with a closed circuit. The state is in memory: each process has its own circuit.
 */
export const make = (options: Options, vendor: Vendor): CircuitBreaker => {
  const state = new State(options)

  const askForRenewal = Effect.flatMap(vendor.renewalMs, (renewal) =>
    Effect.map(MonotonicClock.now, (now) => {
      if (Option.isSome(renewal)) state.renewsIn(renewal.value, now)
    }),
  )

  const failed = (error: ProviderError, targets: number, now: number, isTrial: boolean) => {
    const isNew = !state.isExhausted
    if (!state.failed(error, targets, now, isTrial)) return Effect.void
    return Effect.zipRight(
      isNew
        ? Effect.logWarning(
            "A provider is exhausted: its quota or its ceiling is used up, or a payment is due. For some time the provider is not asked, and URLs get PROVIDER_ERROR, unless another provider answers. To continue at once, pay or buy more or raise the ceiling, and restart the service.",
            error.message,
          )
        : Effect.void,
      pauseOf(error) > 0 ? Effect.void : Effect.forkDaemon(askForRenewal),
    )
  }

  const succeeded = (isTrial: boolean) =>
    state.succeeded(isTrial)
      ? Effect.logInfo("The exhausted provider answers again.", vendor.name)
      : Effect.void

  const guard: CircuitBreaker["guard"] = Effect.fnUntraced(function* (call, targets) {
    const now = yield* MonotonicClock.now
    const message = state.openReason(now) ?? state.tooMany()
    if (message !== undefined) {
      return yield* new CircuitOpen({ message, isExhausted: state.isExhausted })
    }
    const isTrial = state.begin()
    return yield* call.pipe(
      Effect.tapBoth({
        onSuccess: () => Effect.suspend(() => succeeded(isTrial)),
        onFailure: (error) =>
          Effect.flatMap(MonotonicClock.now, (now) => failed(error, targets, now, isTrial)),
      }),
      Effect.ensuring(Effect.sync(() => state.end(isTrial))),
    )
  })

  return {
    guard,
    state: Effect.map(MonotonicClock.now, (now) => {
      const openReason = state.openReason(now)
      const isExhausted = state.isExhausted && openReason !== undefined
      return { openReason, isExhausted, isPaused: now < state.pausedUntil }
    }),
  }
}

/** Decides when calls may go through. All times are milliseconds of the monotonic clock. */
class State {
  isExhausted = false
  /** `Purchased` keeps the pause. */
  pausedUntil = Number.NEGATIVE_INFINITY
  private exhaustion = ""
  private failures = 0
  private nextTrialAt = Number.NEGATIVE_INFINITY
  private isTrying = false
  private inFlight = 0
  /** When the vendor refused or throttled calls, oldest first. */
  private readonly refusedAt: Array<number> = []
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** Returns why the circuit is open, or undefined when a call may go through. */
  openReason(now: number): string | undefined {
    const { blame, limit, refusals } = this.options
    const { max, per, tolerated } = refusals
    const isClosed = now >= this.nextTrialAt && !this.isTrying
    if (this.isExhausted && !isClosed) return this.exhaustion
    while ((this.refusedAt[0] ?? now) < now - Duration.toMillis(per)) this.refusedAt.shift()
    limit.tolerate(tolerated - this.refusedAt.length)
    if (this.refusedAt.length >= max) {
      return `the provider refused ${this.refusedAt.length} calls in the last ${Duration.format(per)}`
    }
    if (this.failures < this.options.failures || !blame.isVendors(now)) return undefined
    return isClosed ? undefined : `${this.failures} calls in a row have failed`
  }

  /** Returns why the calls in flight leave no room for one more, or undefined when there is room. */
  tooMany(): string | undefined {
    return this.refusedAt.length + this.inFlight < this.options.refusals.tolerated
      ? undefined
      : `the provider refused ${this.refusedAt.length} calls and ${this.inFlight} are in flight`
  }

  /** Begins a call. Returns true when it is a trial. */
  begin(): boolean {
    const isTrial = this.isExhausted || this.failures >= this.options.failures
    if (isTrial) this.isTrying = true
    this.inFlight += 1
    return isTrial
  }

  end(isTrial: boolean): void {
    this.inFlight -= 1
    if (isTrial) this.isTrying = false
  }

  /** Records an answer. Returns true when the provider was exhausted before. */
  succeeded(isTrial: boolean): boolean {
    const isRenewed = this.isExhausted
    if (isRenewed && !isTrial) return false
    this.failures = 0
    this.isExhausted = false
    return isRenewed
  }

  /** Records a failed call. Returns true when the provider is exhausted because of it. */
  failed(error: ProviderError, targets: number, now: number, isTrial: boolean): boolean {
    const { blame, cooldown } = this.options
    const isUnsent = error.isUnsent === true
    const pauseMs = pauseOf(error)
    if (error.reason === "Throttled") {
      this.pausedUntil = Math.max(this.pausedUntil, now + Math.min(pauseMs, longestPauseMs))
    }
    if (isRefusal.has(error.reason) && !isUnsent) this.refusedAt.push(now)
    // A call that began before the provider was exhausted says nothing new.
    if (this.isExhausted && !isTrial) return false
    if (error.reason === "Exhausted") {
      this.isExhausted = true
      this.exhaustion = isUnsent ? "its ceiling is reached" : "its quota is used up"
      this.renewsIn(pauseMs > 0 ? pauseMs : exhaustedMs, now)
      return true
    }
    if (isUnsent) return false
    // One target of the call may be at fault. The calls for its halves find that out.
    if (error.reason !== "Rejected" || targets === 1) this.failures += 1
    this.nextTrialAt = now + Math.max(Duration.toMillis(cooldown), pauseMs)
    if (this.failures >= this.options.failures && blame.isVendors(now)) blame.forget()
    return false
  }

  /** Sets when the quota is renewed, if the provider is still exhausted. */
  renewsIn(ms: number, now: number): void {
    if (this.isExhausted) this.nextTrialAt = now + Math.min(ms, longestPeriodMs)
  }
}

const pauseOf = ({ retryAfter }: ProviderError) => Duration.toMillis(retryAfter ?? 0)

/** How long an exhausted provider is not asked when nobody says when its quota is renewed. */
const exhaustedMs = 600_000

/** The longest time without a trial call. Otherwise, a wrong date could block a vendor for years. */
const longestPeriodMs = Duration.toMillis("32 days")
