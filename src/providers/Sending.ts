/**
 * Calls the vendor for tickets and answers them. A failed call for several accounts is repeated for
 * each account alone. A failed call for one account is halved, to find the target at fault. Where
 * several processes share a store, a call has only targets that no other process is buying.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Deadline } from "../Deadline.ts"
import { broken, missing, providerFailed } from "../Metrics.ts"
import { failureOf, logBug, type MetricsProvider, type ProviderError } from "../MetricsProvider.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { type Blame, Caller, several } from "./Blame.ts"
import type * as Cached from "./Cached.ts"
import { type Batch, type Ticket, type Tickets } from "./Tickets.ts"

/** Calls the vendor for a batch of the accounts `owners`. Answers each ticket, or puts it back. */
export type Send = (batch: Batch, owners: ReadonlySet<string>) => Effect.Effect<void>

export interface Options {
  readonly blame: Blame
  readonly tickets: Tickets
  readonly claims?: Cached.Claims | undefined
  /** Puts tickets that another process is buying into the queue again, after a while. */
  readonly putBackLater: (busy: ReadonlyArray<Ticket>) => Effect.Effect<void>
}

export const make = (inner: MetricsProvider["Type"], options: Options): Send => {
  const { claims, tickets } = options
  const buy = buying(inner, options)
  const putBack = (rest: ReadonlyArray<Ticket>) => tickets.putBack(rest)
  if (claims === undefined) return (batch, owners) => Effect.map(buy(batch, owners), putBack)
  const take = taking(claims, options)
  return (batch, owners) =>
    Effect.flatMap(take(batch), (claimed) => {
      const pages = pagesOf(claimed)
      if (!Arr.isNonEmptyReadonlyArray(claimed)) return Effect.void
      return buy(claimed, ownersOf(claimed, owners)).pipe(
        claims.keep(pages),
        Effect.ensuring(claims.release(pages)),
        Effect.map(putBack),
      )
    })
}

/** Returns the tickets that this process has to buy. Answers the others, or puts them back. */
const taking = (claims: Cached.Claims, { putBackLater, tickets }: Options) =>
  Effect.fnUntraced(function* (batch: Batch) {
    const verdict = yield* claims.take(Arr.map(batch, ({ target }) => target.page))
    const busy: Array<Ticket> = []
    const claimed: Array<Ticket> = []
    const known: Array<Ticket> = []
    for (const ticket of batch) {
      const ages = ticket.waiting.map(({ request }) => request.maxAgeMs)
      const outcome = verdict(ticket.target.page, Math.min(...ages))
      if (outcome === "busy") busy.push(ticket)
      else if (outcome === "claimed" && ages.length > 0) claimed.push(ticket)
      else {
        // Without a waiting request, the ticket is forgotten.
        tickets.answer(ticket, outcome === "claimed" ? missing : outcome)
        known.push(ticket)
      }
    }
    if (busy.length > 0) yield* putBackLater(busy)
    yield* claims.release(pagesOf(known))
    return claimed
  })

/** The owners that wait for one of the tickets. */
const ownersOf = (claimed: Batch, owners: ReadonlySet<string>): ReadonlySet<string> => {
  const waiting = new Set(
    claimed.flatMap((ticket) => ticket.waiting.map(({ request }) => request.account)),
  )
  return new Set(Array.from(owners).filter((owner) => waiting.has(owner)))
}

const pagesOf = (tickets: ReadonlyArray<Ticket>) => tickets.map(({ target }) => target.page)

/** Calls the vendor. Returns the tickets that have to be asked for again, in other calls. */
const buying = (inner: MetricsProvider["Type"], { blame, tickets }: Options) => {
  const call = (batch: Batch, account: string) =>
    Effect.flatMap(MonotonicClock.now, (now) =>
      inner.lookup(Arr.map(batch, ({ target }) => target)).pipe(
        Effect.provide(
          Context.add(Context.make(Caller, { account }), Deadline, lastDeadline(batch)),
        ),
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
      // Others may have joined the call while the database used up the time of the first requests.
      const isTooLate = error.isUnsent === true && error.reason === "Timeout"
      if (isTooLate && lastDeadline(batch) > now) return ask(batch, account, failures)
      const mayBeOfOneTarget = !error.isUnsent && blame.mayBeOfOneTarget(error.reason, now)
      if (batch.length === 1 || !mayBeOfOneTarget) {
        return Effect.sync(() => tickets.answerAll(batch, failureOf(error)))
      }
      const halves = Arr.chunksOf(batch, Math.ceil(batch.length / 2))
      return Effect.forEach(halves, (half) => ask(half, account, failures), { discard: true })
    })

  const askForSeveral = (batch: Batch, owners: ReadonlySet<string>) =>
    call(batch, several).pipe(
      Effect.as(none),
      Effect.catchAll((error) =>
        Effect.map(MonotonicClock.now, (now) => {
          if (error.reason === "Exhausted") {
            tickets.answerAll(batch, failureOf(error))
            return none
          }
          blame.separate(owners, now)
          return batch
        }),
      ),
    )

  return (batch: Batch, owners: ReadonlySet<string>): Effect.Effect<ReadonlyArray<Ticket>> => {
    const [account = several] = owners
    const asking =
      owners.size === 1 ? Effect.as(ask(batch, account), none) : askForSeveral(batch, owners)
    return Effect.catchAllCause(asking, (cause) => {
      tickets.answerAll(batch, broken)
      return Effect.as(logBug(cause), none)
    })
  }
}

const none: ReadonlyArray<Ticket> = []

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
