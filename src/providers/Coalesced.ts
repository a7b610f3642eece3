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
import { missing, Outcome, providerFailed, unanswered } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import { FairQueue } from "./FairQueue.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options {
  /** How long the first target of a call waits for more targets. A full call is sent at once. */
  readonly window: Duration.DurationInput
  /** Maximum number of concurrent calls to the vendor, for all accounts together. */
  readonly concurrency: number
  /** Maximum number of unsent targets for one account. Further targets fail with SERVER_ERROR. */
  readonly lineCapacity: number
}

/** A target that is queued or sent, and the requests that wait for it. */
interface Ticket {
  readonly target: Target
  readonly waiting: Array<Place>
  isSent: boolean
}

/** Where to deliver a ticket's outcome: index `at` in the request's outcomes. */
interface Place {
  readonly request: WaitingLookup
  readonly at: number
}

/** A lookup that waits for outcomes. Each lookup belongs to one request. */
interface WaitingLookup {
  readonly account: string
  /** The lookup ends at this time of `MonotonicClock` at the latest. */
  readonly deadline: number
  readonly targets: ReadonlyArray<Target>
  readonly outcomes: Array<Outcome>
  /** Number of outcomes that have not arrived. */
  open: number
  readonly end: () => void
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
    const scope = yield* Effect.scope
    const meters = Meters.make(inner.name)
    const batchSize = inner.batchSize ?? Number.POSITIVE_INFINITY
    const tickets = new Map<string, Ticket>()
    const queue = new FairQueue<Ticket>(options.lineCapacity)
    const hasWork = yield* Effect.makeLatch(false)
    const hasFullCall = yield* Effect.makeLatch(false)
    const requests = new Set<WaitingLookup>()
    let isClosed = false
    /**
     * The time at which the timer of `expire` fires: a time of `MonotonicClock.now`, in milliseconds.
     * Infinite when no timer is set.
     */
    let soonest = Number.POSITIVE_INFINITY
    const hasSooner = yield* Effect.makeLatch(false)
    const slots = yield* Effect.makeSemaphore(options.concurrency)

    const queueChanged = () => {
      meters.waiting(queue.size)
      if (queue.size > 0) hasWork.unsafeOpen()
      else hasWork.unsafeClose()
      if (queue.size >= batchSize) hasFullCall.unsafeOpen()
      else hasFullCall.unsafeClose()
    }

    const join = (request: WaitingLookup, target: Target, at: number) => {
      if (isClosed) return give({ request, at }, broken)
      const known = tickets.get(target.page)
      const ticket = known ?? { target, waiting: [], isSent: false }
      const isQueued = !ticket.isSent && queue.offer(request.account, ticket)
      if (known !== undefined) meters.coalesced(1)
      else if (isQueued) tickets.set(target.page, ticket)
      else return give({ request, at }, crowded)
      ticket.waiting.push({ request, at })
    }

    const leave = (request: WaitingLookup) => {
      requests.delete(request)
      if (request.open === 0) return
      for (const { page } of request.targets) {
        const ticket = tickets.get(page)
        const at = ticket?.waiting.findIndex((place) => place.request === request) ?? -1
        if (ticket === undefined || at < 0) continue
        ticket.waiting.splice(at, 1)
        if (ticket.waiting.length > 0 || ticket.isSent) continue
        queue.remove(ticket)
        tickets.delete(page)
      }
      queueChanged()
    }

    const give = ({ at, request }: Place, outcome: Outcome) => {
      request.outcomes[at] = outcome
      request.open -= 1
      if (request.open === 0) request.end()
    }

    const answer = (ticket: Ticket, outcome: Outcome) => {
      tickets.delete(ticket.target.page)
      for (const place of ticket.waiting) give(place, outcome)
    }

    const send = (batch: Arr.NonEmptyReadonlyArray<Ticket>) =>
      Effect.flatMap(MonotonicClock.now, (now) =>
        inner
          .lookup(Arr.map(batch, ({ target }) => target))
          .pipe(Deadline.within(lastDeadline(batch) - now)),
      ).pipe(
        Effect.catchAll((error) => Effect.succeed(batch.map(() => providerFailed(error.message)))),
        Effect.catchAllCause((cause) =>
          Effect.as(
            Effect.logError(
              "A bug made a lookup of figures fail. The affected URLs got SERVER_ERROR and were not charged. Please report the stack trace in the field 'cause'.",
              cause,
            ),
            batch.map(() => broken),
          ),
        ),
        Effect.map((outcomes) =>
          batch.forEach((ticket, i) => answer(ticket, outcomes[i] ?? missing)),
        ),
      )

    const dispatch = Effect.gen(function* () {
      yield* hasWork.await
      if (queue.size < batchSize) yield* Effect.timeoutOption(hasFullCall.await, options.window)
      // Wait until fewer than `concurrency` calls to the vendor are in flight. Take targets from the
      // queue only then, so that targets that arrive during the wait are sent in the same call.
      yield* slots.take(1)
      const batch = queue.take(batchSize)
      for (const ticket of batch) ticket.isSent = true
      queueChanged()
      yield* Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.forkIn(Effect.ensuring(send(batch), slots.release(1)), scope)
        : slots.release(1)
    })

    /**
     * Ends the lookups whose deadline has passed. All lookups share one timer, because a timer for
     * each lookup would need a fiber for each lookup.
     */
    const expire = Effect.gen(function* () {
      const now = yield* MonotonicClock.now
      hasSooner.unsafeClose()
      soonest = Number.POSITIVE_INFINITY
      for (const request of requests) {
        if (request.deadline > now) soonest = Math.min(soonest, request.deadline)
        else {
          leave(request)
          request.end()
        }
      }
      yield* Number.isFinite(soonest)
        ? Effect.timeoutOption(hasSooner.await, soonest - now)
        : hasSooner.await
    })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
        for (const ticket of tickets.values()) answer(ticket, broken)
      }),
    )
    yield* Effect.forkScoped(Effect.forever(dispatch))
    yield* Effect.forkScoped(Effect.forever(expire))

    const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>) =>
      Effect.flatMap(caller, ({ account, deadline }) =>
        Effect.async<ReadonlyArray<Outcome>>((resume) => {
          const request: WaitingLookup = {
            account: Option.getOrElse(account, () => noAccount),
            deadline,
            targets,
            outcomes: targets.map(() => unanswered),
            open: targets.length,
            end: () => {
              requests.delete(request)
              resume(Effect.succeed(request.outcomes))
            },
          }
          requests.add(request)
          if (request.deadline < soonest) hasSooner.unsafeOpen()
          targets.forEach((target, at) => join(request, target, at))
          queueChanged()
          return Effect.sync(() => leave(request))
        }),
      )

    return { ...inner, lookup }
  })

/**
 * The account of the current lookup, if any, and its deadline: a time of `MonotonicClock.now`,
 * in milliseconds.
 */
const caller = Effect.all({
  account: Effect.serviceOption(CurrentAccount),
  deadline: Effect.zipWith(MonotonicClock.now, Deadline.remainingMs, (now, ms) => now + ms),
})

/**
 * The latest deadline of all requests that wait for the batch: a time of `MonotonicClock.now`, in
 * milliseconds.
 */
const lastDeadline = (batch: ReadonlyArray<Ticket>) =>
  batch.reduce(
    (last, { waiting }) =>
      waiting.reduce((last, { request }) => Math.max(last, request.deadline), last),
    Number.NEGATIVE_INFINITY,
  )

/** The owner, in the FairQueue, of all targets that are looked up without an account. */
const noAccount = ""

const crowded = Outcome.Failed({
  reason: "SERVER_ERROR",
  detail: "too many URLs of this account already wait for the provider",
})

const broken = Outcome.Failed({
  reason: "SERVER_ERROR",
  detail: "a bug in the service made the lookup fail",
})
