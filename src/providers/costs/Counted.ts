/**
 * Counts what the calls to a vendor cost, and stops them at a ceiling. No call waits for the
 * counts: they are gathered in memory and written a second later.
 *
 * Targets in flight count against the ceiling before their call, so one process never exceeds it.
 * The calls of other processes are known from the database, which is read every three seconds.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { dayMs, endOf, startOf } from "../../ledger/budgets/Budget.ts"
import { dayOf } from "../../ledger/usage/Usage.ts"
import { failureOf, ProviderError } from "../MetricsProvider.ts"
import { inTime, tolerant } from "../logOnce.ts"
import * as Meters from "../ProviderMeters.ts"
import * as MonotonicClock from "../../check/MonotonicClock.ts"
import { type Cost, Costs, monthOf, nothing, summed } from "./Costs.ts"
import type { Answer, CallContext, Vendor } from "../Vendor.ts"

export interface Options {
  /** Maximum number of rows in a UTC month, and the name of its setting. */
  readonly ceiling?: { readonly rows: number; readonly setting: string } | undefined
  /** The price of 1,000 rows, in millionths of the vendor's currency. */
  readonly price?: number | undefined
}

/** How long the sum of the month may be used before it is read again, in milliseconds. */
const freshMs = 3000

export const make = (
  inner: Vendor["Type"],
  { ceiling, price }: Options = {},
): Effect.Effect<Vendor["Type"], never, Costs | Scope.Scope> =>
  Effect.gen(function* () {
    const costs = yield* Costs
    const meters = Meters.make(inner.name)
    const fail = (reason: ProviderError["reason"], detail: string, more = {}) =>
      new ProviderError({ provider: inner.name, reason, detail, isUnsent: true, ...more })
    const written = tolerant((cause) =>
      Effect.logWarning(
        "The counts of calls to providers cannot be written to the database. The service keeps them and tries again. To check the database, run 'authority doctor'.",
        cause,
      ),
    )
    const known = tolerant((cause) =>
      Effect.logWarning(
        "The ceiling of a provider cannot be checked in the database, so the provider is not asked. To check the database, run 'authority doctor'.",
        cause,
      ),
    )
    /** Held while the sums are written or read, so that no count is missed or counted twice. */
    const mutex = yield* Effect.makeSemaphore(1)
    let waiting: ReadonlyArray<Cost> = []
    let month = { start: 0, rows: 0, readAt: Number.NEGATIVE_INFINITY }
    let inFlight = 0
    /** The targets of this month's calls without an answer: the vendor may have billed them. */
    let unanswered = 0

    const isWaiting = yield* Queue.sliding<void>(1)
    const keep = (sums: ReadonlyArray<Cost>) => {
      waiting = summed([...waiting, ...sums])
      isWaiting.unsafeOffer(undefined)
    }

    const write = Effect.suspend(() => {
      const writing = waiting
      waiting = []
      return Arr.isNonEmptyReadonlyArray(writing)
        ? Effect.onError(costs.add(writing), () => Effect.sync(() => keep(writing)))
        : Effect.void
    }).pipe(mutex.withPermits(1), (writing) => written(inTime(writing, "5 seconds")))

    yield* Effect.addFinalizer(() => Effect.interruptible(write))
    yield* Queue.take(isWaiting).pipe(
      Effect.zipRight(Effect.delay(write, "1 second")),
      Effect.forever,
      Effect.forkScoped,
    )

    const isFresh = Effect.zipWith(
      MonotonicClock.now,
      Clock.currentTimeMillis,
      (now, time) => now < month.readAt + freshMs && month.start === startOf("month", time),
    )

    const read = Effect.gen(function* () {
      const readAt = yield* MonotonicClock.now
      const start = startOf("month", yield* Clock.currentTimeMillis)
      const { rows } = yield* monthOf(costs, inner.name)
      if (start !== month.start) unanswered = 0
      const unwritten = waiting.filter(({ day }) => day * dayMs >= start)
      month = { start, rows: unwritten.reduce((sum, one) => sum + one.rows, rows), readAt }
    }).pipe(Effect.unlessEffect(isFresh), mutex.withPermits(1))

    /** Makes sure that the sum of this month is at most three seconds old. */
    const isKnown = Effect.flatMap(isFresh, (fresh) =>
      fresh || ceiling === undefined
        ? Effect.succeed(true)
        : Effect.map(known(inTime(read, "1 second")), Option.isSome),
    )

    const exhausted = (more = {}) =>
      fail(
        "Exhausted",
        `the ceiling ${ceiling?.setting} of ${ceiling?.rows} rows a month is reached`,
        more,
      )

    /** Returns how many of `count` targets may be sent, or why none may. */
    const roomFor = (count: number, time: number) => {
      if (ceiling === undefined) return count
      const bought = month.rows + unanswered
      const room = Math.max(0, ceiling.rows - bought - inFlight)
      meters.ceilingRowsLeft(Math.max(0, room - count))
      if (room > 0) return Math.min(count, room)
      return bought < ceiling.rows
        ? fail("Throttled", "the calls in flight may use the rest of its ceiling", {
            retryAfter: Duration.seconds(1),
          })
        : exhausted({ retryAfter: Duration.millis((endOf("month", time) ?? time) - time) })
    }

    const call: Vendor["Type"]["call"] = (targets, context) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          if (!(yield* restore(isKnown))) {
            return yield* fail("Unavailable", "its ceiling cannot be checked")
          }
          const startedAt = yield* MonotonicClock.now
          const time = yield* Clock.currentTimeMillis
          const room = roomFor(targets.length, time)
          if (typeof room !== "number") return yield* room
          inFlight += room
          const [sent, rest] = Arr.splitNonEmptyAt(targets, room)
          const { outcomes, ...billed } = yield* restore(inner.call(sent, context)).pipe(
            Effect.onExit((exit) => count(room, time, startedAt, context, exit)),
          )
          const failed = rest.length === 0 ? [] : rest.map(() => failureOf(exhausted()))
          return { outcomes: [...outcomes, ...failed], ...billed }
        }),
      )

    const count = Effect.fnUntraced(function* (
      targets: number,
      time: number,
      startedAt: number,
      { requestIds }: CallContext,
      exit: Exit.Exit<Answer, ProviderError>,
    ) {
      inFlight -= targets
      const result = resultOf(exit)
      if (result === undefined) return
      const { cost: reported, rows } = Exit.isSuccess(exit) ? exit.value : free
      const cost = costOf(rows, reported, price)
      const call = { ...nothing, provider: inner.name, day: dayOf(time), calls: 1, rows, cost }
      keep([result === "answered" ? call : { ...call, [result]: 1 }])
      if (time >= month.start) month.rows += rows
      meters.rowsBought(rows)
      if (cost !== null) meters.cost(cost / million)
      if (result === "unanswered") {
        unanswered += targets
        meters.unknownCalls(1)
      }
      yield* Effect.annotateLogs(Effect.logDebug("A call to the provider has ended."), {
        provider: inner.name,
        targets,
        result,
        rows,
        cost: cost === null ? null : cost / million,
        ms: Math.round((yield* MonotonicClock.now) - startedAt),
        requestIds,
      })
    })

    return { ...inner, call }
  })

const free = { rows: 0, cost: undefined }

const million = 1_000_000

const costOf = (rows: number, reported: number | undefined, price: number | undefined) => {
  if (reported !== undefined) return Math.round(reported * million)
  return price === undefined ? null : Math.round((rows * price) / 1000)
}

/** How a call ended; undefined if it was not sent. */
const resultOf = (exit: Exit.Exit<unknown, ProviderError>) => {
  if (Exit.isSuccess(exit)) return "answered"
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (error?.isUnsent === true) return undefined
  return error === undefined || mayBeBilled(error) ? "unanswered" : "failed"
}

/** Relies on the details that `VendorHttp` writes: a network error code, or the HTTP status. */
const mayBeBilled = ({ detail, reason }: ProviderError) =>
  reason === "Timeout" ||
  reason === "Malformed" ||
  (reason === "Unreachable" && !neverConnected.test(detail)) ||
  (reason === "Unavailable" && gateway.test(detail))

const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|(ERR_TLS|ERR_SSL|CERT|UNABLE_TO)_\w+)$/

/** A proxy sends these statuses in the vendor's place; the vendor may have received the call. */
const gateway = /^HTTP 50[24]\b/
