/**
 * Many requests, few calls. Concurrent lookups of one target are one lookup; targets of different
 * requests share a call up to the vendor's batch size; calls are limited to a few at a time, and
 * accounts are served in turn. A request's end, by an answer, its deadline or its client's leaving,
 * is nothing to the others: a target is dropped only while unsent and wanted by nobody.
 */
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CurrentAccount } from "../Account.ts"
import * as Deadline from "../Deadline.ts"
import { Outcome } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import * as Stopwatch from "../Stopwatch.ts"
import type { Target } from "../Target.ts"
import { failed } from "./Batches.ts"
import { FairQueue } from "./FairQueue.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"

export interface Options {
  /** How long the first target of a call waits for company; a full call goes at once. */
  readonly window: Duration.DurationInput
  /** Calls at a time. */
  readonly concurrency: number
  /** How many unsent targets an account may have; those above fail with SERVER_ERROR. */
  readonly lineCapacity: number
}

/** A target on its way, and who waits for it. */
interface Ticket {
  readonly target: Target
  readonly waiting: Array<Place>
  isSent: boolean
}

/** Where the outcome of a ticket goes: to the target `at` of a request. */
interface Place {
  readonly request: Request
  readonly at: number
}

/** One lookup on its way. */
interface Request {
  readonly account: string
  /** On the stopwatch. */
  readonly deadline: number
  readonly targets: ReadonlyArray<Target>
  readonly outcomes: Array<Outcome>
  /** How many of the outcomes are still to come. */
  open: number
  readonly end: () => void
}

/** Never fails as a whole: what a failed call leaves open is the outcome of its targets. */
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
    const requests = new Set<Request>()
    let isClosed = false
    /** The earliest deadline that `expire` knows of. */
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

    const join = (request: Request, target: Target, at: number) => {
      if (isClosed) return give({ request, at }, broken)
      const known = tickets.get(target.page)
      const ticket = known ?? { target, waiting: [], isSent: false }
      const isQueued = !ticket.isSent && queue.offer(request.account, ticket)
      if (known !== undefined) meters.coalesced(1)
      else if (isQueued) tickets.set(target.page, ticket)
      else return give({ request, at }, crowded)
      ticket.waiting.push({ request, at })
    }

    const leave = (request: Request) => {
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
      Effect.flatMap(Stopwatch.now, (now) =>
        inner
          .lookup(Arr.map(batch, ({ target }) => target))
          .pipe(Deadline.within(lastDeadline(batch) - now)),
      ).pipe(
        Effect.catchAll((error) => Effect.succeed(batch.map(() => failed(error.message)))),
        Effect.catchAllCause((cause) =>
          Effect.as(
            Effect.logError("The lookup broke.", cause),
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
      // Whoever comes while every slot is taken travels with this call.
      yield* slots.take(1)
      const batch = queue.take(batchSize)
      for (const ticket of batch) ticket.isSent = true
      queueChanged()
      yield* Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.forkIn(Effect.ensuring(send(batch), slots.release(1)), scope)
        : slots.release(1)
    })

    /** Ends the requests whose time is up: one timer for all, for one each takes a fiber each. */
    const expire = Effect.gen(function* () {
      const now = yield* Stopwatch.now
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
          const request: Request = {
            account: Option.getOrElse(account, () => nobody),
            deadline,
            targets,
            outcomes: targets.map(() => late),
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

/** On whose behalf a lookup runs, and its deadline on the stopwatch. */
const caller = Effect.all({
  account: Effect.serviceOption(CurrentAccount),
  deadline: Effect.zipWith(Stopwatch.now, Deadline.remainingMs, (now, ms) => now + ms),
})

/** The call is made for all of them, so it may take until the last one has to answer. */
const lastDeadline = (batch: ReadonlyArray<Ticket>) =>
  batch.reduce(
    (last, { waiting }) =>
      waiting.reduce((last, { request }) => Math.max(last, request.deadline), last),
    Number.NEGATIVE_INFINITY,
  )

/** Lookups on nobody's behalf stand in a line of their own. */
const nobody = ""

const late = failed("no answer in time")

const missing = failed("the provider left it out of its answer")

const crowded = Outcome.Failed({ reason: "SERVER_ERROR", detail: "too many targets wait already" })

const broken = Outcome.Failed({ reason: "SERVER_ERROR", detail: "the lookup broke" })
