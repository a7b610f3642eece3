/**
 * Many requests, few calls. Concurrent lookups of one target are one lookup; targets of different
 * requests share a call up to the vendor's batch size; calls are limited to a few at a time, and
 * accounts are served in turn. A request's end, by an answer, its deadline or its client's leaving,
 * is nothing to the others: a target is dropped only while unsent and wanted by nobody.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CurrentAccount } from "../Account.ts"
import { Deadline } from "../Deadline.ts"
import { Outcome } from "../Metrics.ts"
import type { MetricsProvider } from "../MetricsProvider.ts"
import type { Target } from "../Target.ts"
import { failed } from "./Batches.ts"
import { FairQueue } from "./FairQueue.ts"
import * as Meters from "./Meters.ts"

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
  readonly waiting: Set<Request>
  isSent: boolean
}

/** One lookup's tickets and answers. */
interface Request {
  readonly account: string
  readonly deadline: number
  readonly tickets: Map<string, Ticket>
  readonly answers: Map<string, Outcome>
  readonly done: Deferred.Deferred<void>
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
    const slots = yield* Effect.makeSemaphore(options.concurrency)

    const queueChanged = () => {
      meters.waiting(queue.size)
      if (queue.size > 0) hasWork.unsafeOpen()
      else hasWork.unsafeClose()
      if (queue.size >= batchSize) hasFullCall.unsafeOpen()
      else hasFullCall.unsafeClose()
    }

    const join = (request: Request, target: Target) => {
      const known = tickets.get(target.page)
      const ticket = known ?? { target, waiting: new Set(), isSent: false }
      const isQueued = !ticket.isSent && queue.offer(request.account, ticket)
      if (known !== undefined) meters.coalesced(1)
      else if (!isQueued) return void request.answers.set(target.page, crowded)
      ticket.waiting.add(request)
      tickets.set(target.page, ticket)
      request.tickets.set(target.page, ticket)
    }

    const leave = (request: Request) => {
      for (const ticket of request.tickets.values()) {
        ticket.waiting.delete(request)
        if (ticket.waiting.size > 0 || ticket.isSent) continue
        queue.remove(ticket)
        tickets.delete(ticket.target.page)
      }
      queueChanged()
    }

    const answer = ({ target: { page }, waiting }: Ticket, outcome: Outcome) => {
      tickets.delete(page)
      for (const { answers, done, tickets } of waiting) {
        answers.set(page, outcome)
        tickets.delete(page)
        if (tickets.size === 0) Deferred.unsafeDone(done, Exit.void)
      }
    }

    const send = (batch: Arr.NonEmptyReadonlyArray<Ticket>) =>
      Effect.suspend(() => inner.lookup(Arr.map(batch, ({ target }) => target))).pipe(
        Effect.provideService(Deadline, lastDeadline(batch)),
        Effect.catchAll((error) => Effect.succeed(batch.map(() => failed(error.message)))),
        Effect.tapErrorCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.void
            : Effect.logError("The lookup broke.", cause),
        ),
        Effect.onExit((exit) =>
          Effect.sync(() =>
            batch.forEach((ticket, i) =>
              answer(ticket, Exit.isSuccess(exit) ? (exit.value[i] ?? missing) : broken),
            ),
          ),
        ),
        Effect.exit,
      )

    const dispatch = Effect.gen(function* () {
      yield* hasWork.await
      yield* Effect.timeoutOption(hasFullCall.await, options.window)
      // Whoever comes while every slot is taken travels with this call.
      yield* slots.take(1)
      const batch = queue.take(batchSize)
      for (const ticket of batch) ticket.isSent = true
      queueChanged()
      yield* Arr.isNonEmptyReadonlyArray(batch)
        ? Effect.forkIn(Effect.ensuring(send(batch), slots.release(1)), scope)
        : slots.release(1)
    })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const ticket of tickets.values()) answer(ticket, broken)
      }),
    )
    yield* Effect.forkScoped(Effect.forever(dispatch))

    const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>) =>
      Effect.gen(function* () {
        const deadline = yield* Deadline
        const account = yield* Effect.serviceOption(CurrentAccount)
        const timeout = deadline - (yield* Clock.currentTimeMillis)
        const request: Request = {
          account: Option.getOrElse(account, () => nobody),
          deadline,
          tickets: new Map(),
          answers: new Map(),
          done: yield* Deferred.make<void>(),
        }
        yield* Effect.acquireUseRelease(
          Effect.sync(() => {
            for (const target of targets) join(request, target)
            queueChanged()
          }),
          () =>
            request.tickets.size === 0
              ? Effect.void
              : Effect.timeoutOption(Deferred.await(request.done), Math.max(0, timeout)),
          () => Effect.sync(() => leave(request)),
        )
        return targets.map(({ page }) => request.answers.get(page) ?? late)
      })

    return { ...inner, lookup }
  })

/** The call is made for all of them, so it may take until the last one has to answer. */
const lastDeadline = (batch: ReadonlyArray<Ticket>) =>
  Math.max(...batch.flatMap(({ waiting }) => Array.from(waiting, ({ deadline }) => deadline)))

/** Lookups on nobody's behalf stand in a line of their own. */
const nobody = ""

const late = failed("no answer in time")

const missing = failed("the provider left it out of its answer")

const crowded = Outcome.Failed({ reason: "SERVER_ERROR", detail: "too many targets wait already" })

const broken = Outcome.Failed({ reason: "SERVER_ERROR", detail: "the lookup broke" })
