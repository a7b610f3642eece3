/**
 * The queue in front of a vendor. A target that several requests want is asked for once, targets of
 * several requests share a call, and accounts take turns. The calls belong to the queue, not to a
 * request: a caller leaves at its deadline, and the call continues.
 *
 * A failed call goes back into the queue, for at most four attempts in all. After a failure, the
 * targets of its accounts are sent alone, one call at a time, until such a call succeeds. So an
 * account whose targets make the vendor fail occupies one call, and the others share the rest.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import {
  broken,
  failed,
  missing,
  type Outcome,
  tooManyRefused,
  tooManyUnknown,
  unanswered,
} from "../check/Metrics.ts"
import {
  failureOf,
  logBug,
  type LookupContext,
  type MetricsProvider,
  nothingKnown,
  type ProviderError,
} from "./MetricsProvider.ts"
import { Lru } from "../check/Lru.ts"
import * as Meters from "./ProviderMeters.ts"
import type { Target } from "../check/Target.ts"
import * as MonotonicClock from "../check/MonotonicClock.ts"
import { Recent } from "../check/Recent.ts"
import { accountsOf, Line, type Ticket, type Tickets, type Waiting } from "./Line.ts"
import type { Resilient } from "./Resilient.ts"
import type { Vendor } from "./Vendor.ts"

export interface Options {
  readonly concurrency: number
  /** How long to wait before asking again for a target that the vendor did not know or refused. */
  readonly unknownTtl: Duration.DurationInput
}

const maxAttempts = 4
/** How long the first target of a call waits for others. */
const window = Duration.millis(2)
/** When this many targets of one account are queued, its further targets fail. */
const maxQueued = 10_000
const maxRemembered = 100_000
/** The number of refused calls that one account may cause within `refusedPerMs`. */
const maxRefused = 10
const refusedPerMs = 300_000
/**
 * The number of targets without figures, billed by the vendor, that an account may cause within
 * `unknownPerMs`. Each credit charged adds `unknownPerCredit`.
 */
const freeUnknown = 500
const unknownPerCredit = 10
const unknownPerMs = 3_600_000

/** The lookup never fails: if a call fails for good, each of its targets gets a failed outcome. */
export const make = (
  { circuit, vendor }: Resilient,
  options: Options,
): Effect.Effect<MetricsProvider["Type"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue: Parts = {
      vendor,
      meters: Meters.make(vendor.name),
      scope: yield* Effect.scope,
      permits: yield* Effect.makeSemaphore(options.concurrency),
      changed: yield* Queue.sliding<void>(1),
      line: new Line(vendor.batchSize),
      tickets: new Map(),
      memory: makeMemory(Duration.toMillis(options.unknownTtl), vendor.billsUnknown),
    }
    const logged = Effect.catchAllDefect(dispatch(queue), (bug) => logBug(Cause.die(bug)))
    yield* Effect.forkScoped(Effect.forever(logged))
    return {
      name: vendor.name,
      known: nothingKnown,
      prospects: (targets) =>
        Effect.map(MonotonicClock.now, (now) =>
          targets.map((target) =>
            queue.memory.outcomeOf(target, now) === undefined ? "asked" : "failed",
          ),
        ),
      circuits: Effect.map(circuit, Arr.of),
      lookup: (targets, context) => lookUp(queue, targets, context),
    }
  })

interface Parts {
  readonly vendor: Vendor["Type"]
  readonly meters: Meters.Meters
  readonly scope: Scope.Scope
  readonly permits: Effect.Semaphore
  readonly changed: Queue.Queue<void>
  readonly line: Line
  /** All targets that wait or are in flight, keyed by page. */
  readonly tickets: Map<string, Ticket>
  readonly memory: Memory
}

const lookUp = Effect.fnUntraced(function* (
  queue: Parts,
  targets: Arr.NonEmptyReadonlyArray<Target>,
  context: LookupContext,
) {
  const now = yield* MonotonicClock.now
  const lookup: Waiting = {
    outcomes: targets.map(() => unanswered),
    done: yield* Deferred.make<void>(),
    requestId: context.requestId,
    open: 0,
  }
  const refusals = enqueue(queue, targets, context, lookup, now)
  if (refusals.has(tooManyUnknown) && queue.memory.isNews(context.account, now)) {
    yield* warnOfUnknown(context.account)
  }
  if (lookup.open === 0) return lookup.outcomes
  yield* Queue.offer(queue.changed, undefined)
  const remainingMs = Math.max(0, context.deadline - now)
  const done = Deferred.await(lookup.done)
  yield* Number.isFinite(remainingMs) ? Effect.timeoutOption(done, remainingMs) : done
  return lookup.outcomes
})

/** Adds the targets of a lookup to the queue. Returns the outcomes of those that are refused. */
const enqueue = (
  { line, memory, meters, tickets }: Parts,
  targets: Arr.NonEmptyReadonlyArray<Target>,
  { account, charged, deadline }: LookupContext,
  lookup: Waiting,
  now: number,
): ReadonlySet<Outcome> => {
  const refusals = new Set<Outcome>()
  targets.forEach((target, index) => {
    const ticket = tickets.get(target.page)
    if (ticket !== undefined) {
      ticket.waiting.push({ lookup, index })
      ticket.deadline = Math.max(ticket.deadline, deadline)
      lookup.open += 1
      meters.coalesced(1)
      return
    }
    const refusal =
      memory.outcomeOf(target, now) ??
      (line.lengthOf(account) >= maxQueued ? queueIsFull : memory.refusalOf(account, charged, now))
    if (refusal !== undefined) {
      lookup.outcomes[index] = refusal
      refusals.add(refusal)
      return
    }
    lookup.open += 1
    const added: Ticket = { target, account, waiting: [{ lookup, index }], deadline, attempts: 0 }
    tickets.set(target.page, added)
    line.add(added)
  })
  meters.waiting(line.queued)
  return refusals
}

/** Sends the waiting targets, call after call, until no call can be made. */
const dispatch = Effect.fnUntraced(function* (queue: Parts) {
  const { changed, line, meters, permits, scope } = queue
  yield* Queue.take(changed)
  if (!line.isFull) yield* Effect.sleep(window)
  while (line.hasCall) {
    yield* permits.take(1)
    const batch = line.take()
    meters.waiting(line.queued)
    const ended = Effect.suspend(() => {
      line.ended(batch)
      return Effect.zipRight(permits.release(1), Queue.offer(changed, undefined))
    })
    yield* Effect.forkIn(Effect.ensuring(ask(queue, batch), ended), scope)
  }
})

/**
 * Makes one call, then answers its targets or queues them again. Leaves out targets that nobody
 * waits for any more, and those of blocked accounts.
 */
const ask: (queue: Parts, batch: ReadonlyArray<Ticket>) => Effect.Effect<void> = Effect.fnUntraced(
  function* (queue, batch) {
    const now = yield* MonotonicClock.now
    const [open, late] = Arr.partition(batch, ({ deadline }) => deadline <= now)
    const [asked, blocked] = Arr.partition(open, (one) => queue.memory.isBlocked(one.account, now))
    const answers = [
      answerNow(queue, late, () => unanswered, now),
      answerNow(queue, blocked, () => tooManyRefused, now),
    ]
    yield* Effect.all(answers, { discard: true })
    if (!Arr.isNonEmptyArray(asked)) return
    const accounts = accountsOf(asked)
    const lookups = asked.flatMap(({ waiting }) => waiting.map(({ lookup }) => lookup))
    const context = {
      account: accounts.size === 1 ? asked[0].account : undefined,
      requestIds: [...new Set(lookups.map(({ requestId }) => requestId))],
    }
    const targets = Arr.map(asked, ({ target }) => target)
    yield* queue.vendor.call(targets, context).pipe(
      Effect.matchEffect({
        onFailure: (error) => failedCall(queue, asked, error),
        onSuccess: ({ outcomes }) => {
          accounts.forEach((account) => queue.line.clear(account))
          return answerAll(queue, asked, (i) => outcomes[i] ?? missing)
        },
      }),
      Effect.catchAllDefect((bug) =>
        Effect.zipRight(
          logBug(Cause.die(bug)),
          answerAll(queue, asked, () => broken),
        ),
      ),
    )
  },
)

const failedCall = (queue: Parts, batch: Tickets, error: ProviderError) => {
  const { account } = batch[0]
  const { isUnsent = false, reason } = error
  const isOfSeveral = batch.some((ticket) => ticket.account !== account)
  const fail = answerAll(queue, batch, () => failureOf(error))
  if (isUnsent) return reason === "Throttled" ? repeat(queue, batch, error) : fail
  for (const ticket of batch) {
    ticket.attempts += 1
    if (reason !== "Throttled" && reason !== "Exhausted") queue.line.suspect(ticket.account)
  }
  if (reason === "Exhausted") return fail
  if (reason === "Rejected" && !isOfSeveral) return halve(queue, batch, error)
  const isFinal = (!isOfSeveral && finalReasons.has(reason)) || batch[0].attempts >= maxAttempts
  return isFinal ? fail : repeat(queue, batch, error)
}

/** Puts targets back into the queue after the back-off; those that cannot wait fail. */
const repeat = Effect.fnUntraced(function* (queue: Parts, batch: Tickets, error: ProviderError) {
  const jitter = yield* Random.nextRange(0.5, 1)
  const backOffMs = Math.round(250 * 2 ** Math.max(0, batch[0].attempts - 1) * jitter)
  const waitMs = Math.max(backOffMs, Duration.toMillis(error.retryAfter ?? 0))
  const now = yield* MonotonicClock.now
  const [late, again] = Arr.partition(batch, ({ deadline }) => now + waitMs < deadline)
  yield* answerNow(queue, late, () => failureOf(error), now)
  if (again.length === 0) return
  const putBack = Effect.suspend(() => {
    again.forEach((ticket) => queue.line.add(ticket))
    return Queue.offer(queue.changed, undefined)
  })
  yield* Effect.forkIn(Effect.delay(putBack, waitMs), queue.scope)
})

/** The vendor refuses the call because of one target: halves it until that target is alone. */
const halve = Effect.fnUntraced(function* (queue: Parts, batch: Tickets, error: ProviderError) {
  const { memory } = queue
  const [{ account, target }, ...others] = batch
  const now = yield* MonotonicClock.now
  if (memory.wasRefused(account, now)) yield* warnOfRefused(account)
  if (others.length === 0) {
    memory.remember(target, failureOf(error), now)
    return yield* answerNow(queue, batch, () => failureOf(error), now)
  }
  for (const half of Arr.chunksOf(batch, Math.ceil(batch.length / 2))) yield* ask(queue, half)
})

const answerAll = (queue: Parts, batch: Tickets, outcomeOf: (index: number) => Outcome) =>
  Effect.flatMap(MonotonicClock.now, (now) => answerNow(queue, batch, outcomeOf, now))

/**
 * Gives each target its outcome at once, so that no further lookup joins it. The returned effect
 * logs the failures, and completes the lookups that wait for no other target.
 */
const answerNow = (
  { memory, meters, tickets }: Parts,
  batch: ReadonlyArray<Ticket>,
  outcomeOf: (index: number) => Outcome,
  now: number,
) => {
  const done: Array<Deferred.Deferred<void>> = []
  const outcomes = batch.map(({ account, target, waiting }, i) => {
    const outcome = outcomeOf(i)
    if (outcome._tag === "Failed" && outcome.cause === "unknown") {
      memory.isUnknown(target, account, outcome, now)
    }
    tickets.delete(target.page)
    for (const { index, lookup } of waiting) {
      lookup.outcomes[index] = outcome
      lookup.open -= 1
      if (lookup.open === 0) done.push(lookup.done)
    }
    return outcome
  })
  return Effect.zipRight(
    record(meters, batch, outcomes),
    Effect.forEach(done, (lookup) => Deferred.succeed(lookup, undefined), { discard: true }),
  )
}

type Memory = ReturnType<typeof makeMemory>

/** Remembers the targets without figures, and the accounts that asked for them. */
const makeMemory = (ttlMs: number, billsUnknown: boolean) => {
  const outcomes = new Lru<{ readonly outcome: Outcome; readonly until: number }>(maxRemembered)
  const refused = new Recent(refusedPerMs)
  const unknown = new Recent(unknownPerMs)
  const named = new Recent(unknownPerMs)

  const remember = ({ page }: Target, outcome: Outcome, now: number) =>
    outcomes.set(page, { outcome, until: now + ttlMs })
  const isBlocked = (account: string, now: number) => refused.count(account, now) >= maxRefused

  return {
    remember,
    isBlocked,
    outcomeOf: ({ page }: Target, now: number) => {
      const entry = outcomes.get(page)
      return entry !== undefined && now < entry.until ? entry.outcome : undefined
    },

    isUnknown: (target: Target, account: string, outcome: Outcome, now: number) => {
      remember(target, outcome, now)
      if (billsUnknown) unknown.add(account, 1, now)
    },

    /** Records a refused call for a target. Returns true if this blocks the account. */
    wasRefused: (account: string, now: number) => {
      refused.add(account, 1, now)
      return refused.count(account, now) === maxRefused
    },

    /** Returns why the account's new targets are refused; undefined if they are not. */
    refusalOf: (account: string, charged: number, now: number) => {
      if (isBlocked(account, now)) return tooManyRefused
      const allowed = freeUnknown + unknownPerCredit * charged
      return unknown.count(account, now) >= allowed ? tooManyUnknown : undefined
    },

    /** Returns true unless the log has named the account recently, and notes that it now has. */
    isNews: (account: string, now: number) => {
      if (named.count(account, now) > 0) return false
      named.add(account, 1, now)
      return true
    },
  }
}

/** The reasons for which a repeated call would fail in the same way. */
const finalReasons = new Set<ProviderError["reason"]>(["Refused", "Malformed"])

const queueIsFull = failed("SERVER_ERROR", "too many URLs of the account wait for the provider")

const record = (
  meters: Meters.Meters,
  batch: ReadonlyArray<Ticket>,
  outcomes: ReadonlyArray<Outcome>,
) => {
  const failures = outcomes.flatMap((outcome, i) =>
    outcome._tag === "Failed" ? [{ ...outcome, target: batch[i]?.target.page }] : [],
  )
  meters.checked(outcomes.length - failures.length)
  for (const { cause } of failures) meters.failed[cause](1)
  return Effect.forEach(
    failures,
    ({ cause, detail, target }) =>
      Effect.logDebug("The provider has no figures for a target.", detail).pipe(
        Effect.annotateLogs({ target, cause }),
      ),
    { discard: true },
  )
}

const warnOfRefused = (account: string) =>
  Effect.logWarning(
    `The provider refused ${maxRefused} calls for URLs of the account ${account} in five minutes. For five minutes, new URLs of this account get PROVIDER_ERROR.`,
  )

const warnOfUnknown = (account: string) =>
  Effect.logWarning(
    `The account ${account} asked for more unknown URLs than its credits pay for. For up to an hour, new URLs of this account get PROVIDER_ERROR.`,
  )
