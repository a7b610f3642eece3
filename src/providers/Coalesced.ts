/**
 * Merges the lookups of many requests into few vendor calls. A target that several requests look up
 * at the same time is sent once. Targets of several requests share a call, up to the vendor's batch
 * size. The number of concurrent calls is limited, and accounts take turns. When a request times
 * out or is cancelled, its unsent targets leave the queue, except targets that another request
 * waits for. Calls in flight continue.
 */
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CurrentAccount } from "../Account.ts"
import * as Deadline from "../Deadline.ts"
import { Freshness } from "../Freshness.ts"
import { type Outcome, unanswered } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as Alarms from "../time/Alarms.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import type { Blame } from "./Blame.ts"
import type * as Cached from "./Cached.ts"
import type { Limit } from "./Limit.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import * as Sending from "./Sending.ts"
import { type Ticket, Tickets, type WaitingLookup } from "./Tickets.ts"

export interface Options {
  /** How long the first target of a call waits for more targets. A full call is sent at once. */
  readonly window: Duration.DurationInput
  /** How many calls to the vendor may be in flight, for all accounts together. */
  readonly limit: Limit
  /** Maximum number of unsent targets for one account. Further targets fail with SERVER_ERROR. */
  readonly lineCapacity: number
  /** Whose fault the failed calls are. */
  readonly blame: Blame
  /** Returns the figures of a target that another call has fetched by now, as `Cached` does. */
  readonly recall?: Cached.Cached["recall"]
  /** Claims the targets of a call, so that no other process buys them. Default: claims nothing. */
  readonly claims?: Cached.Claims | undefined
}

/**
 * Makes a provider that merges lookups into few calls of `inner.lookup`. Its own `lookup` does not
 * fail: when a call of `inner.lookup` fails, each target of that call has a failed outcome.
 */
export const make = (
  inner: MetricsProvider["Type"],
  options: Options,
): Effect.Effect<MetricsProvider["Type"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const meters = Meters.make(inner.name)
    const tickets = new Tickets({ ...options, meters })
    const alarms = yield* Alarms.make
    const queueChanged = yield* dispatching(inner, tickets, { ...options, alarms }, meters)
    const leave = (request: WaitingLookup) => {
      tickets.remove(request)
      queueChanged()
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => tickets.close()))

    const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>) =>
      Effect.flatMap(caller, ({ account, deadline, maxAgeMs, now }) =>
        Effect.async<ReadonlyArray<Outcome>>((resume) => {
          const request: WaitingLookup = {
            account: Option.getOrElse(account, () => noAccount),
            deadline,
            maxAgeMs,
            targets,
            outcomes: targets.map(() => unanswered),
            open: targets.length,
            end: () => {
              cancel()
              resume(Effect.succeed(request.outcomes))
            },
          }
          const cancel = alarms.set(deadline, () => {
            leave(request)
            request.end()
          })
          tickets.add(request, now)
          queueChanged()
          return Effect.sync(() => {
            cancel()
            leave(request)
          })
        }),
      )

    const prospects = (targets: Arr.NonEmptyReadonlyArray<Target>) =>
      Effect.map(MonotonicClock.now, (now) =>
        targets.map(({ page }) =>
          options.blame.rememberedOutcome(page, now) === undefined ? "asked" : "failed",
        ),
      )

    return { ...inner, prospects, lookup }
  })

// Sends queued targets in the background, in at most `limit.calls` calls at a time. Returns a
// function to call when the queue has changed.
const dispatching = Effect.fnUntraced(function* (
  inner: MetricsProvider["Type"],
  tickets: Tickets,
  options: Options & { readonly alarms: Alarms.Alarms },
  meters: Meters.Meters,
) {
  const scope = yield* Effect.scope
  const batchSize = inner.batchSize ?? Number.POSITIVE_INFINITY
  const hasWork = yield* Effect.makeLatch(false)
  const hasFullCall = yield* Effect.makeLatch(false)
  const hasRoom = yield* Effect.makeLatch(true)
  const { alarms, limit } = options

  const queueChanged = () => {
    meters.waiting(tickets.queued)
    if (tickets.queued > 0) hasWork.unsafeOpen()
    else hasWork.unsafeClose()
    if (tickets.queued >= batchSize) hasFullCall.unsafeOpen()
    else hasFullCall.unsafeClose()
  }

  const putBackLater = (busy: ReadonlyArray<Ticket>) =>
    Effect.map(MonotonicClock.now, (now) => {
      alarms.set(now + busyMs, () => {
        tickets.putBack(busy)
        queueChanged()
      })
    })
  const send = Sending.make(inner, { ...options, tickets, putBackLater })

  // When all calls in flight are stuck, there is room for a spare call. Otherwise, one account whose
  // calls the vendor does not answer would shut out all others.
  let isWatching = false
  const watch = () => {
    if (isWatching || limit.hasRoom || !limit.hasSpareRoom) return
    isWatching = true
    const at = tickets.latestCall + limit.stuckMs
    alarms.set(at, () => {
      isWatching = false
      if (tickets.latestCall + limit.stuckMs > at) watch()
      else if (limit.hasSpareRoom) hasRoom.unsafeOpen()
    })
  }

  const limitChanged = () => {
    meters.callsInFlight(limit.inFlight, limit.calls)
    if (limit.hasRoom) hasRoom.unsafeOpen()
    else hasRoom.unsafeClose()
    watch()
  }
  limitChanged()

  const dispatch = Effect.gen(function* () {
    yield* hasWork.await
    if (tickets.queued < batchSize) {
      yield* Effect.timeoutOption(hasFullCall.await, options.window)
    }
    // Take targets from the queue only when a call can be sent, so that targets that arrive during
    // the wait are sent in the same call.
    yield* hasRoom.await
    const now = yield* MonotonicClock.now
    const { end, items, owners } = tickets.take(batchSize, now, !limit.hasRoom)
    queueChanged()
    if (!Arr.isNonEmptyReadonlyArray(items)) {
      // All accounts in the queue have to wait. A change of the queue opens this latch again.
      hasWork.unsafeClose()
      return
    }
    limit.take()
    limitChanged()
    const ended = Effect.sync(() => {
      end()
      queueChanged()
      limit.release()
      limitChanged()
    })
    yield* Effect.forkIn(Effect.ensuring(send(items, owners), ended), scope)
  })

  yield* Effect.forkScoped(Effect.forever(dispatch))
  return queueChanged
})

// The account of the current lookup, if any, and its deadline: a time of `MonotonicClock.now`, in
// milliseconds.
const caller = Effect.all({
  account: Effect.serviceOption(CurrentAccount),
  now: MonotonicClock.now,
  remainingMs: Deadline.remainingMs,
  maxAgeMs: Freshness,
}).pipe(
  Effect.map(({ remainingMs, ...caller }) => ({ ...caller, deadline: caller.now + remainingMs })),
)

/** After this time the queue looks again whether another process still buys a target. */
const busyMs = 200

/** The owner, in the FairQueue, of all targets that are looked up without an account. */
const noAccount = ""
