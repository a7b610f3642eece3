/**
 * A vendor with a timeout, and with a circuit that stops the calls while the vendor is away. The
 * queue `Batched` repeats failed calls.
 *
 * A call that failed is repeated account by account, so a failed call of one account says whose
 * targets it had. The circuit opens only when 15 calls in a row failed and at least two accounts
 * had such calls of their own: one account's targets cannot make a vendor look away, and a vendor
 * that fails three calls of ten does not fail 15 in a row.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Calls, type Circuit, ProviderError } from "./MetricsProvider.ts"
import * as Meters from "./ProviderMeters.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import { Recent } from "../check/Recent.ts"
import type { Vendor } from "./Vendor.ts"

export interface Options {
  /** Timeout of one call. */
  readonly timeout: Duration.DurationInput
  /** How many calls may be in flight, to report it. */
  readonly concurrency: number
}

export interface Resilient {
  readonly vendor: Vendor["Type"]
  readonly circuit: Effect.Effect<Circuit>
}

const maxFailures = 15
const cooldownMs = 15_000
const probeExhaustedMs = 600_000
const maxExhaustedMs = Duration.toMillis("32 days")
const maxPauseMs = Duration.toMillis("1 hour")
/** Moz limits a caller that got more than 50 answers with a 4xx status in five minutes. */
const penaltyBeginsAt = 50
const refusalsPerMs = 300_000

/** The circuit is per process. It begins closed. */
export const make = (inner: Vendor["Type"], { concurrency, timeout }: Options): Resilient => {
  const meters = Meters.make(inner.name)
  const calls = new CallLog()
  const state = new State(inner.maxRefusals)
  const fail = (reason: ProviderError["reason"], detail: string, more = {}) =>
    new ProviderError({ provider: inner.name, reason, detail, ...more })

  const attempt: Vendor["Type"]["call"] = (targets, context) =>
    Effect.gen(function* () {
      const startedAt = yield* MonotonicClock.now
      const isProbe = state.begin(startedAt)
      meters.calls(1)
      meters.callsInFlight(state.inFlight, concurrency)
      return yield* inner.call(targets, context).pipe(
        Effect.timeoutFail({
          duration: timeout,
          onTimeout: () => fail("Timeout", "no answer in time"),
        }),
        Effect.tapBoth({
          onSuccess: () => Effect.suspend(() => (state.succeeded() ? isBack : Effect.void)),
          onFailure: (error) =>
            Effect.flatMap(MonotonicClock.now, (now) => failed(error, context.account, now)),
        }),
        Effect.ensuring(
          Effect.map(MonotonicClock.now, (now) => {
            state.end(isProbe)
            calls.took(now - startedAt)
            meters.callSeconds((now - startedAt) / 1000)
            meters.callsInFlight(state.inFlight, concurrency)
          }),
        ),
      )
    })

  const isBack = Effect.logInfo("The exhausted provider answers again.", inner.name)

  const failed = (error: ProviderError, account: string | undefined, now: number) => {
    meters.failedCalls(error.reason)
    const isNew = state.failed(error, account, now)
    const warning =
      error.reason !== "Exhausted"
        ? Effect.logWarning(
            "A call to the provider failed. If this message repeats, run 'authority doctor'.",
            error.message,
          )
        : isNew
          ? Effect.logWarning(
              "A provider is exhausted: its quota or its ceiling is used up, or a payment is due. URLs get PROVIDER_ERROR, unless another provider answers. Every ten minutes one call asks whether this is over. To continue at once, pay or buy more or raise the ceiling, and restart the service.",
              error.message,
            )
          : Effect.void
    return Effect.zipRight(calls.failed(error), warning)
  }

  return {
    vendor: {
      ...inner,
      call: (targets, context) =>
        Effect.flatMap(MonotonicClock.now, (now) => {
          const pauseMs = state.pausedUntil - now
          if (pauseMs > 0) {
            const retryAfter = Duration.millis(pauseMs)
            return fail("Throttled", "it asked for a pause", { isUnsent: true, retryAfter })
          }
          if (state.isExhausted(now) && !state.mayProbeExhausted(now)) {
            return fail("Exhausted", `not asked, because ${state.exhaustion}`, { isUnsent: true })
          }
          const reason = state.openReason(now)
          return reason === undefined
            ? attempt(targets, context)
            : fail("Unavailable", `not asked, because ${reason}`, { isUnsent: true })
        }),
    },
    circuit: Effect.map(MonotonicClock.now, (now) => {
      const isExhausted = state.isExhausted(now)
      return {
        provider: inner.name,
        openReason: isExhausted ? state.exhaustion : state.openReason(now),
        isExhausted,
        isPaused: now < state.pausedUntil,
        calls: {
          inFlight: state.inFlight,
          limit: concurrency,
          latencyMs: calls.latencyMs,
          errors: calls.errors,
        },
        status: inner.status,
      }
    }),
  }
}

/** Decides when calls may be sent. All times are milliseconds of the monotonic clock. */
class State {
  inFlight = 0
  pausedUntil = Number.NEGATIVE_INFINITY
  /** Why the vendor was exhausted the last time. */
  exhaustion = ""
  private failures = 0
  /** The accounts that had a failed call of their own since the last success. */
  private readonly accounts = new Set<string>()
  private openUntil = Number.NEGATIVE_INFINITY
  private exhaustedUntil = Number.NEGATIVE_INFINITY
  private exhaustedProbeAt = Number.NEGATIVE_INFINITY
  private isProbing = false
  private readonly refusals = new Recent(refusalsPerMs)
  private readonly maxRefusals: number

  constructor(maxRefusals: number) {
    this.maxRefusals = maxRefusals
  }

  isExhausted(now: number): boolean {
    return now < this.exhaustedUntil
  }

  /** True when a call may ask an exhausted vendor whether that is over. */
  mayProbeExhausted(now: number): boolean {
    return !this.isProbing && now >= this.exhaustedProbeAt
  }

  /** Returns why no call may be sent, or undefined when one may. */
  openReason(now: number): string | undefined {
    const refusals = this.refusals.count("", now)
    if (refusals >= this.maxRefusals || refusals + this.inFlight >= penaltyOf(this.maxRefusals)) {
      return `the provider refused ${refusals} calls in the last five minutes`
    }
    return this.isOpen && (now < this.openUntil || this.isProbing)
      ? `${this.failures} calls in a row have failed`
      : undefined
  }

  /** Begins a call. Returns true when it is the only one, to find out whether the vendor is back. */
  begin(now: number): boolean {
    this.inFlight += 1
    if (!this.isOpen && now >= this.exhaustedUntil) return false
    this.isProbing = true
    return true
  }

  end(isProbe: boolean): void {
    this.inFlight -= 1
    if (isProbe) this.isProbing = false
  }

  /** Returns true when the vendor was exhausted before. */
  succeeded(): boolean {
    const wasExhausted = this.exhaustedUntil !== Number.NEGATIVE_INFINITY
    this.exhaustedUntil = Number.NEGATIVE_INFINITY
    this.failures = 0
    this.accounts.clear()
    return wasExhausted
  }

  /** Returns true when the vendor is exhausted and was not before. */
  failed(
    { isUnsent, reason, retryAfter }: ProviderError,
    account: string | undefined,
    now: number,
  ) {
    const pauseMs = Duration.toMillis(retryAfter ?? 0)
    const is4xx = reason === "Throttled" || reason === "Refused" || reason === "Rejected"
    if (is4xx && isUnsent !== true) this.refusals.add("", 1, now)
    if (reason === "Throttled") this.pausedUntil = now + Math.min(pauseMs, maxPauseMs)
    if (reason === "Exhausted") {
      const isNew = this.exhaustedUntil === Number.NEGATIVE_INFINITY
      this.exhaustion = isUnsent === true ? "its ceiling is reached" : "its quota is used up"
      this.exhaustedUntil = now + Math.min(pauseMs || maxExhaustedMs, maxExhaustedMs)
      this.exhaustedProbeAt = now + probeExhaustedMs
      return isNew
    }
    // The vendor answered, or was not asked: neither says that it is away.
    if (reason === "Rejected" || isUnsent === true) return false
    this.failures += 1
    if (account !== undefined) this.accounts.add(account)
    if (this.isOpen) this.openUntil = now + Math.max(cooldownMs, Math.min(pauseMs, maxPauseMs))
    return false
  }

  private get isOpen(): boolean {
    return this.failures >= maxFailures && this.accounts.size > 1
  }
}

/** The calls in flight may be refused too, so with them the refusals stay below the penalty. */
const penaltyOf = (maxRefusals: number) =>
  Number.isFinite(maxRefusals) ? penaltyBeginsAt : Number.POSITIVE_INFINITY

/** Remembers how long the calls took, and why the last ones failed. */
class CallLog {
  latencyMs: number | null = null
  errors: Calls["errors"] = []

  took(ms: number) {
    this.latencyMs = this.latencyMs === null ? ms : this.latencyMs + 0.1 * (ms - this.latencyMs)
  }

  failed({ message, reason }: ProviderError): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (at) => {
      this.errors = [{ at, reason, message }, ...this.errors.slice(0, 9)]
    })
  }
}
