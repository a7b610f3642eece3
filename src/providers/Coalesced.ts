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
import type { MetricsProvider, ProviderError } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import type { Target } from "../Target.ts"
import { type Blame, Caller, several } from "./Blame.ts"
import { FairQueue } from "./FairQueue.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options {
  /** How long the first target of a call waits for more targets. A full call is sent at once. */
  readonly window: Duration.DurationInput
  /** Maximum number of concurrent calls to the vendor, for all accounts together. */
  readonly concurrency: number
  /** Maximum number of unsent targets for one account. Further targets fail with SERVER_ERROR. */
  readonly lineCapacity: number
  /** Whose fault the failed calls are. */
  readonly blame: Blame
}

/** A target that is queued or sent, and the requests that wait for it. */
interface Ticket {
  readonly target: Target
  readonly waiting: Array<Place>
  isSent: boolean
}

type Tickets = Arr.NonEmptyReadonlyArray<Ticket>

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
    const { blame } = options
    /** Accounts apart that have a call in flight. */
    const busy = new Set<string>()

    const queueChanged = () => {
      meters.waiting(queue.size)
      if (queue.size > 0) hasWork.unsafeOpen()
      else hasWork.unsafeClose()
      if (queue.size >= batchSize) hasFullCall.unsafeOpen()
      else hasFullCall.unsafeClose()
    }

    const join = (request: WaitingLookup, target: Target, at: number, now: number) => {
      if (isClosed) return give({ request, at }, broken)
      const known = tickets.get(target.page)
      const verdict = known ? undefined : blame.verdict(target.page, request.account, now)
      if (verdict !== undefined) return give({ request, at }, verdict)
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
      const { page } = ticket.target
      if (tickets.get(page) === ticket) tickets.delete(page)
      for (const place of ticket.waiting.splice(0)) give(place, outcome)
    }

    const answerAll = (batch: Tickets, outcome: Outcome) =>
      batch.forEach((ticket) => answer(ticket, outcome))

    /** Calls the vendor for the tickets, in the name of `account`, until their last deadline. */
    const call = (batch: Tickets, account: string) =>
      Effect.flatMap(MonotonicClock.now, (now) =>
        inner.lookup(Arr.map(batch, ({ target }) => target)).pipe(
          Deadline.within(lastDeadline(batch) - now),
          Effect.provideService(Caller, { account }),
          Effect.map((outcomes) =>
            batch.forEach((ticket, i) => answer(ticket, outcomes[i] ?? missing)),
          ),
        ),
      )

    /**
     * Calls the vendor for one account. Halves a call that fails, to find the target at fault, at
     * most `maxFailures` times for one original call.
     */
    const ask = (all: Tickets, account: string, failures = { count: 0 }): Effect.Effect<void> =>
      Effect.flatMap(MonotonicClock.now, (now) => {
        if (failures.count >= maxFailures) return Effect.sync(() => answerAll(all, undecided))
        const batch = all.filter((ticket) => {
          const verdict = blame.verdict(ticket.target.page, account, now)
          if (verdict !== undefined) answer(ticket, verdict)
          return verdict === undefined
        })
        return Arr.isNonEmptyArray(batch)
          ? Effect.catchAll(call(batch, account), (error) => halve(batch, account, failures, error))
          : Effect.void
      })

    const halve = (
      batch: Tickets,
      account: string,
      failures: { count: number },
      { message, reason }: ProviderError,
    ) =>
      Effect.flatMap(MonotonicClock.now, (now) => {
        failures.count += 1
        if (batch.length === 1 || !blame.mayBeOfOneTarget(reason, now)) {
          return Effect.sync(() => answerAll(batch, providerFailed(message)))
        }
        const halves = Arr.chunksOf(batch, Math.ceil(batch.length / 2))
        return Effect.forEach(halves, (half) => ask(half, account, failures), { discard: true })
      })

    /** Puts the tickets of a failed call back, so that each account is asked for on its own. */
    const separate = (batch: Tickets, owners: ReadonlySet<string>) =>
      Effect.map(MonotonicClock.now, (now) => {
        blame.separate(owners, now)
        for (const ticket of batch) {
          const [place] = ticket.waiting
          ticket.isSent = false
          if (place === undefined || !queue.offer(place.request.account, ticket)) {
            answer(ticket, crowded)
          }
        }
      })

    const send = (batch: Tickets, owners: ReadonlySet<string>) => {
      const [account = noAccount] = owners
      const asking =
        owners.size === 1
          ? ask(batch, account)
          : Effect.catchAll(call(batch, several), () => separate(batch, owners))
      return asking.pipe(
        Effect.catchAllCause((cause) => {
          answerAll(batch, broken)
          return Effect.logError(
            "A bug made a lookup of figures fail. The affected URLs got SERVER_ERROR and were not charged. Please report the stack trace in the field 'cause'.",
            cause,
          )
        }),
      )
    }

    const dispatch = Effect.gen(function* () {
      yield* hasWork.await
      if (queue.size < batchSize) yield* Effect.timeoutOption(hasFullCall.await, options.window)
      // Wait until fewer than `concurrency` calls to the vendor are in flight. Take targets from the
      // queue only then, so that targets that arrive during the wait are sent in the same call.
      yield* slots.take(1)
      const now = yield* MonotonicClock.now
      const { items, owners } = queue.take(batchSize, {
        isApart: (owner) => blame.isApart(owner, now),
        isBusy: (owner) => busy.has(owner),
      })
      for (const ticket of items) ticket.isSent = true
      queueChanged()
      if (!Arr.isNonEmptyReadonlyArray(items)) {
        // All owners are busy. The end of a call, or the next target, opens this latch.
        hasWork.unsafeClose()
        yield* slots.release(1)
        return
      }
      // An account apart has one call in flight, so slow failures leave the slots to others.
      const apart = Array.from(owners).filter((owner) => blame.isApart(owner, now))
      apart.forEach((owner) => busy.add(owner))
      const end = Effect.suspend(() => {
        apart.forEach((owner) => busy.delete(owner))
        queueChanged()
        return slots.release(1)
      })
      yield* Effect.forkIn(Effect.ensuring(send(items, owners), end), scope)
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
      Effect.flatMap(caller, ({ account, deadline, now }) =>
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
          targets.forEach((target, at) => join(request, target, at, now))
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
  now: MonotonicClock.now,
  remainingMs: Deadline.remainingMs,
}).pipe(
  Effect.map(({ account, now, remainingMs }) => ({ account, now, deadline: now + remainingMs })),
)

/**
 * The latest deadline of all requests that wait for the batch: a time of `MonotonicClock.now`, in
 * milliseconds.
 */
const lastDeadline = (batch: Tickets) =>
  batch.reduce(
    (last, { waiting }) =>
      waiting.reduce((last, { request }) => Math.max(last, request.deadline), last),
    Number.NEGATIVE_INFINITY,
  )

/** The owner, in the FairQueue, of all targets that are looked up without an account. */
const noAccount = ""

/** Maximum number of failed calls to find the targets at fault in one original call. */
const maxFailures = 12

const undecided = providerFailed("the provider failed too many calls with targets of this request")

const crowded = Outcome.Failed({
  reason: "SERVER_ERROR",
  detail: "too many URLs of this account already wait for the provider",
})

const broken = Outcome.Failed({
  reason: "SERVER_ERROR",
  detail: "a bug in the service made the lookup fail",
})
