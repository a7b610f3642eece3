/**
 * A vendor with a timeout for each call, and with a circuit that stops the calls while the vendor
 * is down. The queue, `Batched`, repeats failed calls.
 *
 * The circuit opens after 15 failed calls in a row, if at least two accounts had a failed call that
 * contained only their own targets. So one account's targets cannot make a vendor look down, and a
 * vendor that fails three calls in ten keeps the circuit closed.
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
  readonly timeout: Duration.DurationInput
  /** The maximum number of calls in flight. It is only reported here. */
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
const refusalsPerMs = 300_000
/** Calls in flight may be refused too: this many more than `maxRefusals` are allowed. */
const maxRefusedInFlight = 10

/** Each process has its own circuit, which is closed at first. */
export const make = (inner: Vendor["Type"], { concurrency, timeout }: Options): Resilient => {
  const meters = Meters.make(inner.name)
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
          onFailure: (error) => failed(error, context.account),
        }),
        Effect.ensuring(
          Effect.map(MonotonicClock.now, (now) => {
            state.end(isProbe, now - startedAt)
            meters.callSeconds((now - startedAt) / 1000)
            meters.callsInFlight(state.inFlight, concurrency)
          }),
        ),
      )
    })

  const isBack = Effect.logInfo("The exhausted provider answers again.", inner.name)

  const failed = Effect.fnUntraced(function* (error: ProviderError, account: string | undefined) {
    const { message, reason } = error
    meters.failedCalls(reason)
    state.remember({ at: yield* Clock.currentTimeMillis, reason, message })
    const isNewlyExhausted = state.failed(error, account, yield* MonotonicClock.now)
    if (reason !== "Exhausted") {
      yield* Effect.logWarning(
        "A call to the provider failed. If this message repeats, run 'authority doctor'.",
        message,
      )
    } else if (isNewlyExhausted) {
      yield* Effect.logWarning(
        "A provider is exhausted: its quota or its ceiling is used up, or a payment is due. URLs get PROVIDER_ERROR, unless another provider answers. Every ten minutes one call asks whether this is over. To continue at once, pay or buy more or raise the ceiling, and restart the service.",
        message,
      )
    }
  })

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
          const stop = state.stopOf(now)
          return stop === undefined || state.mayProbe(stop, now)
            ? attempt(targets, context)
            : fail(stop.reason, `not asked, because ${stop.why}`, { isUnsent: true })
        }),
    },
    circuit: Effect.map(MonotonicClock.now, (now) => {
      const stop = state.stopOf(now)
      const isExhausted = stop?.reason === "Exhausted"
      return {
        provider: inner.name,
        openReason: stop && (isExhausted || !state.mayProbe(stop, now)) ? stop.why : undefined,
        isExhausted,
        isPaused: now < state.pausedUntil,
        calls: {
          inFlight: state.inFlight,
          limit: concurrency,
          latencyMs: state.latencyMs,
          errors: state.errors,
        },
        status: inner.status,
      }
    }),
  }
}

/** Why calls are stopped. From `probeAt` on, single calls find out whether the vendor is back. */
interface Stop {
  readonly reason: "Exhausted" | "Unavailable"
  readonly why: string
  readonly probeAt: number
  readonly endsAt: number
}

const never = Number.POSITIVE_INFINITY

/** Decides when calls may be sent. All times are milliseconds of the monotonic clock. */
class State {
  inFlight = 0
  pausedUntil = Number.NEGATIVE_INFINITY
  latencyMs: number | null = null
  errors: Calls["errors"] = []
  private stop: Stop | undefined
  private isProbing = false
  /** True from the first "exhausted" answer until the next success, as both are logged once. */
  private wasExhausted = false
  private failures = 0
  /** The accounts that, since the last success, had a failed call with only their own targets. */
  private readonly accounts = new Set<string>()
  private readonly refusals = new Recent(refusalsPerMs)
  private readonly maxRefusals: number

  constructor(maxRefusals: number) {
    this.maxRefusals = maxRefusals
  }

  stopOf(now: number): Stop | undefined {
    if (this.stop !== undefined && now >= this.stop.endsAt) this.stop = undefined
    if (this.stop?.reason === "Exhausted") return this.stop
    const refused = this.refusals.count("", now)
    if (
      refused >= this.maxRefusals ||
      refused + this.inFlight >= this.maxRefusals + maxRefusedInFlight
    ) {
      const why = `the provider refused ${refused} calls in the last five minutes`
      return { reason: "Unavailable", why, probeAt: never, endsAt: never }
    }
    return this.stop
  }

  mayProbe({ probeAt }: Stop, now: number): boolean {
    return !this.isProbing && now >= probeAt
  }

  /** Begins a call. Returns true if this call alone finds out whether the vendor is back. */
  begin(now: number): boolean {
    const isProbe = this.stopOf(now) !== undefined
    if (isProbe) this.isProbing = true
    this.inFlight += 1
    return isProbe
  }

  end(isProbe: boolean, ms: number): void {
    this.inFlight -= 1
    if (isProbe) this.isProbing = false
    this.latencyMs = this.latencyMs === null ? ms : this.latencyMs + 0.1 * (ms - this.latencyMs)
  }

  succeeded(): boolean {
    const { wasExhausted } = this
    this.wasExhausted = false
    this.stop = undefined
    this.failures = 0
    this.accounts.clear()
    return wasExhausted
  }

  remember(error: Calls["errors"][number]): void {
    this.errors = [error, ...this.errors.slice(0, 9)]
  }

  /** Returns true if the vendor has just become exhausted. */
  failed(
    { isUnsent, reason, retryAfter }: ProviderError,
    account: string | undefined,
    now: number,
  ): boolean {
    const waitMs = Duration.toMillis(retryAfter ?? 0)
    const pauseMs = Math.min(waitMs, maxPauseMs)
    const is4xx = reason === "Throttled" || reason === "Refused" || reason === "Rejected"
    if (is4xx && isUnsent !== true) this.refusals.add("", 1, now)
    if (reason === "Throttled") this.pausedUntil = now + pauseMs
    if (reason === "Exhausted") {
      const isNew = !this.wasExhausted
      this.wasExhausted = true
      const why = isUnsent === true ? "its ceiling is reached" : "its quota is used up"
      const endsAt = now + Math.min(waitMs || maxExhaustedMs, maxExhaustedMs)
      this.stop = { reason, why, probeAt: now + probeExhaustedMs, endsAt }
      return isNew
    }
    // The vendor answered, or was not asked: neither means that it is down.
    if (reason === "Rejected" || isUnsent === true) return false
    this.failures += 1
    if (account !== undefined) this.accounts.add(account)
    if (this.failures >= maxFailures && this.accounts.size > 1) {
      const why = `${this.failures} calls in a row have failed`
      const probeAt = now + Math.max(cooldownMs, pauseMs)
      this.stop = { reason: "Unavailable", why, probeAt, endsAt: never }
    }
    return false
  }
}
