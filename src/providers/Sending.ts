/**
 * Calls the vendor for tickets and answers them. A failed call for several accounts is repeated for
 * each account alone. A failed call for one account is halved, to find the target at fault.
 */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Deadline from "../Deadline.ts"
import { missing, providerFailed } from "../Metrics.ts"
import { failureOf, type MetricsProvider, type ProviderError } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { type Blame, Caller, several } from "./Blame.ts"
import { type Batch, broken, type Tickets } from "./Tickets.ts"

/** Calls the vendor for a batch of the accounts `owners`. Answers each ticket, or puts it back. */
export type Send = (batch: Batch, owners: ReadonlySet<string>) => Effect.Effect<void>

export const make = (
  inner: MetricsProvider["Type"],
  { blame, tickets }: { readonly blame: Blame; readonly tickets: Tickets },
): Send => {
  const call = (batch: Batch, account: string) =>
    Effect.flatMap(MonotonicClock.now, (now) =>
      inner.lookup(Arr.map(batch, ({ target }) => target)).pipe(
        Deadline.within(lastDeadline(batch) - now),
        Effect.provideService(Caller, { account }),
        Effect.map((outcomes) =>
          batch.forEach((ticket, i) => {
            const outcome = outcomes[i] ?? missing
            blame.remember(ticket.target.page, outcome, now)
            tickets.answer(ticket, outcome)
          }),
        ),
      ),
    )

  const ask = (all: Batch, account: string, failures = { count: 0 }): Effect.Effect<void> =>
    Effect.flatMap(MonotonicClock.now, (now) => {
      if (failures.count >= maxFailures) {
        return Effect.sync(() => tickets.answerAll(all, undecided))
      }
      const batch = all.filter((ticket) => {
        const verdict = blame.verdict(ticket.target.page, account, now)
        if (verdict !== undefined) tickets.answer(ticket, verdict)
        return verdict === undefined
      })
      return Arr.isNonEmptyArray(batch)
        ? Effect.catchAll(call(batch, account), (error) => halve(batch, account, failures, error))
        : Effect.void
    })

  const halve = (
    batch: Batch,
    account: string,
    failures: { count: number },
    error: ProviderError,
  ) =>
    Effect.flatMap(MonotonicClock.now, (now) => {
      failures.count += 1
      const mayBeOfOneTarget = !error.isUnsent && blame.mayBeOfOneTarget(error.reason, now)
      if (batch.length === 1 || !mayBeOfOneTarget) {
        return Effect.sync(() => tickets.answerAll(batch, failureOf(error)))
      }
      const halves = Arr.chunksOf(batch, Math.ceil(batch.length / 2))
      return Effect.forEach(halves, (half) => ask(half, account, failures), { discard: true })
    })

  return (batch, owners) => {
    const [account = several] = owners
    const asking =
      owners.size === 1
        ? ask(batch, account)
        : Effect.catchAll(call(batch, several), (error) =>
            Effect.map(MonotonicClock.now, (now) => {
              if (error.reason === "Exhausted") {
                return tickets.answerAll(batch, failureOf(error))
              }
              blame.separate(owners, now)
              tickets.putBack(batch)
            }),
          )
    return Effect.catchAllCause(asking, (cause) => {
      tickets.answerAll(batch, broken)
      return logBug(cause)
    })
  }
}

const logBug = (cause: Cause.Cause<never>) =>
  Effect.logError(
    "A bug made a lookup of figures fail. The affected URLs got SERVER_ERROR and were not charged. Please report the stack trace in the field 'cause'.",
    cause,
  )

/** The latest deadline of all requests that wait for the batch, on the monotonic clock. */
const lastDeadline = (batch: Batch) => {
  let last = Number.NEGATIVE_INFINITY
  for (const { waiting } of batch) {
    for (const { request } of waiting) last = Math.max(last, request.deadline)
  }
  return last
}

/** Maximum number of failed calls to find the targets at fault in one original call. */
const maxFailures = 12

const undecided = providerFailed("the provider failed too many calls with targets of this request")
