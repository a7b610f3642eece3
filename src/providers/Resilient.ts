/**
 * Adds retries and a circuit breaker to a vendor. Transient failures are retried with exponential
 * back-off and jitter, until the deadline of the request. A retry waits at least as long as the
 * vendor's `Retry-After`.
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { constant, identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { Deadline } from "../Deadline.ts"
import type { Outcome } from "../Metrics.ts"
import { failureOf, type MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import { type Blame, Caller, several } from "./Blame.ts"
import type { CallLog } from "./CallLog.ts"
import * as CircuitBreaker from "./CircuitBreaker.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options extends CircuitBreaker.Options {
  /** Timeout of the question when a used-up quota is renewed. */
  readonly timeout: Duration.DurationInput
  /** Maximum number of retries after the first attempt. */
  readonly retries: number
  readonly log: CallLog
}

/**
 * Returns the vendor with retries and circuit breaker. While the circuit is open, `lookup`
 * fails at once with Unavailable, or with Exhausted when the vendor's quota is used up.
 */
export const make = (inner: MetricsProvider["Type"], options: Options): MetricsProvider["Type"] => {
  const meters = Meters.make(inner.name)
  const { blame, limit, log, retries } = options
  const breaker = CircuitBreaker.make(options, {
    name: inner.name,
    renewalMs: renewalMs(inner, options.timeout),
  })
  const record = recorder(meters)

  const failure = (reason: ProviderError["reason"], detail: string) =>
    new ProviderError({ provider: inner.name, reason, detail })

  const call = (targets: NonEmptyReadonlyArray<Target>, account: string) =>
    inner.lookup(targets).pipe(
      Effect.tapBoth({
        onSuccess: (outcomes) =>
          Effect.flatMap(MonotonicClock.now, (now) => {
            blame.answered(account, now)
            return record(targets, outcomes)
          }),
        onFailure: (error) => Effect.zipRight(blaming(blame, account, error), log.failed(error)),
      }),
      (call) => breaker.guard(call, targets.length),
    )

  /** Calls the vendor and retries until `deadline`, in milliseconds of the monotonic clock. */
  const callUntil = (targets: NonEmptyReadonlyArray<Target>, deadline: number, account: string) =>
    call(targets, account).pipe(
      // A call for several accounts is not retried: each account is then asked for on its own.
      account === several
        ? identity
        : Effect.catchAll(retried(call(targets, account), { deadline, retries })),
      Effect.tapErrorTag("ProviderError", ({ isUnsent, reason }) =>
        Effect.map(MonotonicClock.now, (now) => {
          const [first, ...others] = targets
          if (others.length === 0 && isUnsent !== true)
            blame.refused(first.page, reason, account, now)
        }),
      ),
    )

  return {
    ...inner,
    circuits: Effect.map(breaker.state, (state) => {
      const calls = { ...log, inFlight: limit.inFlight, limit: limit.calls }
      return [{ provider: inner.name, ...state, calls, ...statusOf(inner) }]
    }),
    lookup: (targets) =>
      Effect.flatMap(Deadline, (deadline) =>
        Effect.flatMap(Caller, ({ account }) => callUntil(targets, deadline, account)),
      ).pipe(
        Effect.catchTag("CircuitOpen", ({ isExhausted, message }) =>
          failure(isExhausted ? "Exhausted" : "Unavailable", `not asked, because ${message}`),
        ),
        Effect.tapError((error) => record(targets, targets.map(constant(failureOf(error))))),
      ),
  }
}

/** Logs a failed call, and says whose fault it is. */
const blaming = (blame: Blame, account: string, { isUnsent, message, reason }: ProviderError) =>
  Effect.flatMap(MonotonicClock.now, (now) => {
    // A used-up quota is no account's fault, and the circuit breaker logs it once.
    if (reason === "Exhausted" || isUnsent === true) return Effect.void
    const warning = Effect.logWarning(
      "A call to the provider failed. If this message repeats, run 'authority doctor'.",
      message,
    )
    const blocked = blame.failed(account, reason, now)
    return Effect.zipRight(warning, Effect.forEach(blocked, warnOfBlocked))
  })

const statusOf = ({ status }: MetricsProvider["Type"]) => (status === undefined ? {} : { status })

// Counts the outcomes of targets, and logs the vendor's reason for each failure.
const recorder =
  ({ checked, failed }: Meters.Meters) =>
  (targets: ReadonlyArray<Target>, outcomes: ReadonlyArray<Outcome>) => {
    const lines: Array<Effect.Effect<void>> = []
    outcomes.forEach((outcome, i) => {
      if (outcome._tag === "Checked") return
      const { cause, detail } = outcome
      failed[cause](1)
      const line = Effect.logDebug("The provider has no figures for a target.", detail)
      lines.push(Effect.annotateLogs(line, { target: targets[i]?.page, cause }))
    })
    checked(outcomes.length - lines.length)
    return lines.length === 0 ? Effect.void : Effect.all(lines, { discard: true })
  }

const renewalMs = (
  { status }: MetricsProvider["Type"],
  timeout: Duration.DurationInput,
): Effect.Effect<Option.Option<number>> =>
  status === undefined
    ? Effect.succeedNone
    : Effect.zipWith(status, Clock.currentTimeMillis, ({ quota }, now) => {
        const ms = (quota?.resetsAt ?? now) - now
        return quota !== undefined && quota.left <= 0 && ms > 0 ? Option.some(ms) : Option.none()
      }).pipe(
        Effect.timeout(timeout),
        Effect.catchAll(() => Effect.succeedNone),
      )

// Starts with the error of the first attempt, because most attempts need no schedule.
const retried =
  (call: Call, { deadline, retries }: { readonly deadline: number; readonly retries: number }) =>
  (error: CallError) => {
    let attempts = 0
    return Effect.retry(
      Effect.suspend(() => (attempts++ === 0 ? Effect.fail(error) : call)),
      {
        times: retries,
        while: isTransient,
        schedule: Schedule.whileOutputEffect(backOff, (wait) =>
          Effect.map(MonotonicClock.now, (now) => now + Duration.toMillis(wait) < deadline),
        ),
      },
    )
  }

type Call = Effect.Effect<ReadonlyArray<Outcome>, CallError>

type CallError = ProviderError | CircuitBreaker.CircuitOpen

// Doubles the wait after each retry, with jitter. Waits at least as long as the vendor's
// `Retry-After`. The schedule's output is the length of the wait.
const backOff: Schedule.Schedule<Duration.Duration, CallError> = Schedule.exponential(
  "250 millis",
).pipe(
  Schedule.jitteredWith({ min: 0.5, max: 1 }),
  Schedule.zipRight(Schedule.identity<CallError>()),
  Schedule.modifyDelay((error, wait) =>
    Math.round(Math.max(Duration.toMillis(wait), retryAfterMsOf(error))),
  ),
  Schedule.delays,
)

const retryAfterMsOf = (error: CallError) =>
  error._tag === "ProviderError" ? Duration.toMillis(error.retryAfter ?? 0) : 0

// True when a retry may succeed. A refused call would be refused again, and a malformed answer
// would be malformed again.
const isTransient = (error: CallError) =>
  error._tag === "ProviderError" && !isFinal.has(error.reason)

const isFinal = new Set<ProviderError["reason"]>(["Exhausted", "Refused", "Rejected", "Malformed"])

const warnOfBlocked = (account: string) =>
  Effect.logWarning(
    `The provider refused too many calls for targets of the account ${account} in five minutes, and answered others. For up to five minutes, new targets of this account get PROVIDER_ERROR.`,
  )
