/**
 * The queue in front of a vendor. It merges the lookups of many requests into few calls: a target
 * that several requests wait for is asked once, targets of several requests share a call, accounts
 * take turns, and the number of calls in flight is limited. The queue makes the calls, not a
 * request: a caller leaves at its deadline, and the call goes on.
 *
 * A failed call goes back into the queue, at most four attempts in all. Then its accounts are asked
 * alone, one call at a time, until a call of theirs succeeds. So an account whose targets make the
 * vendor fail holds one call, and the others share the rest.
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
} from "../Metrics.ts"
import {
  failureOf,
  logBug,
  type LookupContext,
  type MetricsProvider,
  nothingKnown,
  type ProviderError,
} from "../MetricsProvider.ts"
import { Lru } from "../cache/Lru.ts"
import * as Meters from "../telemetry/ProviderMeters.ts"
import type { Target } from "../Target.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"
import { Recent } from "../time/Recent.ts"
import type { Resilient } from "./Resilient.ts"

export interface Options {
  /** How many calls may be in flight. */
  readonly concurrency: number
  /** How long the vendor is not asked again for a target that it does not know or refuses. */
  readonly unknownTtl: Duration.DurationInput
}

const maxAttempts = 4
/** So long the first target of a call waits for others. */
const window = Duration.millis(2)
/** Further targets of one account fail. */
const maxQueued = 10_000
const maxRemembered = 100_000
/** An account may cause so many refused calls in so long a time. */
const maxRefused = 10
const refusedPerMs = 300_000
/** Targets without figures that the vendor bills: so many an hour, and more by credits charged. */
const freeUnknown = 500
const unknownPerCredit = 10
const unknownPerMs = 3_600_000

/** A lookup that waits for `open` outcomes. */
interface Waiting {
  readonly outcomes: Array<Outcome>
  readonly done: Deferred.Deferred<void>
  readonly requestId: string
  open: number
}

/** A target that is in the queue or in flight. */
interface Ticket {
  readonly target: Target
  readonly account: string
  readonly charged: number
  readonly waiting: Array<{ readonly lookup: Waiting; readonly index: number }>
  deadline: number
  attempts: number
}

type Tickets = Arr.NonEmptyReadonlyArray<Ticket>

/** The lookup does not fail: when a call fails for good, each of its targets has a failed outcome. */
export const make = (
  { circuit, vendor }: Resilient,
  options: Options,
): Effect.Effect<MetricsProvider["Type"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const meters = Meters.make(vendor.name)
    const unknownTtlMs = Duration.toMillis(options.unknownTtl)
    const permits = yield* Effect.makeSemaphore(options.concurrency)
    const changed = yield* Queue.sliding<void>(1)
    const line = new Line(vendor.batchSize)
    const tickets = new Map<string, Ticket>()
    const remembered = new Lru<{ readonly outcome: Outcome; readonly until: number }>(maxRemembered)
    const refused = new Recent(refusedPerMs)
    const unknown = new Recent(unknownPerMs)
    /** The accounts that the log has named lately. */
    const named = new Recent(unknownPerMs)

    const rememberedOutcome = ({ page }: Target, now: number) => {
      const entry = remembered.get(page)
      return entry !== undefined && now < entry.until ? entry.outcome : undefined
    }

    /**
     * Gives each target its outcome at once, so that no further lookup joins it. The effect logs the
     * failures, and ends the lookups that wait for no other target.
     */
    const answerNow = (
      batch: ReadonlyArray<Ticket>,
      outcomeOf: (index: number) => Outcome,
      now: number,
    ) => {
      const done: Array<Deferred.Deferred<void>> = []
      const outcomes = batch.map(({ account, target, waiting }, i) => {
        const outcome = outcomeOf(i)
        if (outcome._tag === "Failed" && outcome.cause === "unknown") {
          remembered.set(target.page, { outcome, until: now + unknownTtlMs })
          if (vendor.billsUnknown) unknown.add(account, 1, now)
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

    const answerAll = (batch: Tickets, outcomeOf: (index: number) => Outcome) =>
      Effect.flatMap(MonotonicClock.now, (now) => answerNow(batch, outcomeOf, now))

    /** Puts targets back into the queue after the back-off, or fails those that cannot wait. */
    const repeat = (batch: Tickets, error: ProviderError) =>
      Effect.gen(function* () {
        const jitter = yield* Random.nextRange(0.5, 1)
        const backOffMs = Math.round(250 * 2 ** Math.max(0, batch[0].attempts - 1) * jitter)
        const waitMs = Math.max(backOffMs, Duration.toMillis(error.retryAfter ?? 0))
        const until = (yield* MonotonicClock.now) + waitMs
        const [late, again] = Arr.partition(batch, ({ deadline }) => until < deadline)
        if (Arr.isNonEmptyArray(late)) yield* answerAll(late, () => failureOf(error))
        if (again.length === 0) return
        yield* Effect.forkIn(
          Effect.delay(
            Effect.suspend(() => {
              again.forEach((ticket) => line.add(ticket))
              return Queue.offer(changed, undefined)
            }),
            waitMs,
          ),
          scope,
        )
      })

    /** The vendor refuses the call for one of its targets: halves it until that target is alone. */
    const halve = (batch: Tickets, error: ProviderError): Effect.Effect<unknown> => {
      const [first, ...others] = batch
      if (others.length > 0) {
        const halves = Arr.chunksOf(batch, Math.ceil(batch.length / 2))
        return Effect.forEach(halves, (half) =>
          Effect.flatMap(MonotonicClock.now, (now) =>
            refused.count(first.account, now) < maxRefused
              ? ask(half)
              : answerAll(half, () => tooManyRefused),
          ),
        )
      }
      const outcome = failureOf(error)
      return Effect.flatMap(MonotonicClock.now, (now) => {
        remembered.set(first.target.page, { outcome, until: now + unknownTtlMs })
        return answerAll(batch, () => outcome)
      })
    }

    const countRefused = (account: string) =>
      Effect.flatMap(MonotonicClock.now, (now) => {
        refused.add(account, 1, now)
        return refused.count(account, now) === maxRefused ? warnOfRefused(account) : Effect.void
      })

    const failedCall = (batch: Tickets, error: ProviderError) => {
      const { account } = batch[0]
      const isOfSeveral = batch.some((ticket) => ticket.account !== account)
      const isFinal = !isOfSeveral && finalReasons.has(error.reason)
      if (error.isUnsent === true) {
        return error.reason === "Throttled"
          ? repeat(batch, error)
          : answerAll(batch, () => failureOf(error))
      }
      batch.forEach((ticket) => {
        ticket.attempts += 1
      })
      if (error.reason === "Exhausted") return answerAll(batch, () => failureOf(error))
      if (error.reason !== "Throttled") batch.forEach((ticket) => line.suspect(ticket.account))
      if (error.reason === "Rejected" && !isOfSeveral) {
        return Effect.zipRight(countRefused(account), halve(batch, error))
      }
      return isFinal || batch[0].attempts >= maxAttempts
        ? answerAll(batch, () => failureOf(error))
        : repeat(batch, error)
    }

    /** Makes one call, and answers its targets or repeats it. */
    const ask = (batch: Tickets): Effect.Effect<unknown> => {
      const accounts = new Set(batch.map(({ account }) => account))
      const context = {
        account: accounts.size === 1 ? batch[0].account : undefined,
        requestIds: [
          ...new Set(batch.flatMap(({ waiting }) => waiting.map(({ lookup }) => lookup.requestId))),
        ],
      }
      return vendor
        .call(
          Arr.map(batch, ({ target }) => target),
          context,
        )
        .pipe(
          Effect.matchEffect({
            onFailure: (error) => failedCall(batch, error),
            onSuccess: ({ outcomes }) => {
              accounts.forEach((account) => line.clear(account))
              return answerAll(batch, (i) => outcomes[i] ?? missing)
            },
          }),
          Effect.catchAllDefect((defect) =>
            Effect.zipRight(
              logBug(Cause.die(defect)),
              answerAll(batch, () => broken),
            ),
          ),
        )
    }

    const dispatch = Effect.gen(function* () {
      yield* Queue.take(changed)
      if (!line.isFull) yield* Effect.sleep(window)
      while (line.hasCall) {
        yield* permits.take(1)
        const now = yield* MonotonicClock.now
        const { batch, blocked, ended, late } = line.take(
          now,
          (account) => refused.count(account, now) >= maxRefused,
        )
        meters.waiting(line.queued)
        const answers = [
          answerNow(late, () => unanswered, now),
          answerNow(blocked, () => tooManyRefused, now),
        ]
        yield* Effect.all(answers, { discard: true })
        if (!Arr.isNonEmptyArray(batch)) {
          yield* permits.release(1)
          continue
        }
        yield* Effect.forkIn(
          Effect.ensuring(
            ask(batch),
            Effect.suspend(() => {
              ended()
              return Effect.zipRight(permits.release(1), Queue.offer(changed, undefined))
            }),
          ),
          scope,
        )
      }
    })
    const logged = Effect.catchAllDefect(dispatch, (defect) => logBug(Cause.die(defect)))
    yield* Effect.forkScoped(Effect.forever(logged))

    /** Returns why a target is not asked for; undefined when it is. */
    const refusal = (target: Target, { account, charged }: LookupContext, now: number) => {
      const known = rememberedOutcome(target, now)
      if (known !== undefined) return known
      if (line.lengthOf(account) >= maxQueued) return queueIsFull
      if (refused.count(account, now) >= maxRefused) return tooManyRefused
      return unknown.count(account, now) >= freeUnknown + unknownPerCredit * charged
        ? tooManyUnknown
        : undefined
    }

    /** Adds the targets of a lookup to the queue, except those that have an outcome already. */
    const enqueue = (
      targets: Arr.NonEmptyReadonlyArray<Target>,
      context: LookupContext,
      lookup: Waiting,
      now: number,
    ) => {
      const { account, charged, deadline } = context
      let refusedUnknown = false
      targets.forEach((target, index) => {
        const ticket = tickets.get(target.page)
        if (ticket !== undefined) {
          ticket.waiting.push({ lookup, index })
          ticket.deadline = Math.max(ticket.deadline, deadline)
          lookup.open += 1
          meters.coalesced(1)
          return
        }
        const outcome = refusal(target, context, now)
        if (outcome !== undefined) {
          lookup.outcomes[index] = outcome
          refusedUnknown ||= outcome === tooManyUnknown
          return
        }
        lookup.open += 1
        const waiting = [{ lookup, index }]
        const added: Ticket = { target, account, charged, waiting, deadline, attempts: 0 }
        tickets.set(target.page, added)
        line.add(added)
      })
      meters.waiting(line.queued)
      return refusedUnknown
    }

    return {
      name: vendor.name,
      known: nothingKnown,
      prospects: (targets) =>
        Effect.map(MonotonicClock.now, (now) =>
          targets.map((target) =>
            rememberedOutcome(target, now) === undefined ? "asked" : "failed",
          ),
        ),
      circuits: Effect.map(circuit, Arr.of),
      lookup: Effect.fnUntraced(function* (targets, context) {
        const now = yield* MonotonicClock.now
        const lookup: Waiting = {
          outcomes: targets.map(() => unanswered),
          done: yield* Deferred.make<void>(),
          requestId: context.requestId,
          open: 0,
        }
        if (enqueue(targets, context, lookup, now) && named.count(context.account, now) === 0) {
          named.add(context.account, 1, now)
          yield* warnOfUnknown(context.account)
        }
        if (lookup.open === 0) return lookup.outcomes
        yield* Queue.offer(changed, undefined)
        const remainingMs = Math.max(0, context.deadline - now)
        const done = Deferred.await(lookup.done)
        yield* Number.isFinite(remainingMs) ? Effect.timeoutOption(done, remainingMs) : done
        return lookup.outcomes
      }),
    }
  })

/** The targets that wait, by account. Accounts take turns. */
class Line {
  queued = 0
  private readonly batchSize: number
  private readonly accounts = new Map<string, Array<Ticket>>()
  /** The accounts whose last call failed, with their calls in flight. */
  private readonly suspects = new Set<string>()
  private readonly inFlight = new Map<string, number>()

  constructor(batchSize: number) {
    this.batchSize = batchSize
  }

  get isFull(): boolean {
    return this.queued >= this.batchSize
  }

  /** True when at least one account may be asked now. */
  get hasCall(): boolean {
    for (const account of this.accounts.keys()) if (this.mayAsk(account)) return true
    return false
  }

  lengthOf(account: string): number {
    return this.accounts.get(account)?.length ?? 0
  }

  add(ticket: Ticket): void {
    const waiting = this.accounts.get(ticket.account)
    if (waiting === undefined) this.accounts.set(ticket.account, [ticket])
    else waiting.push(ticket)
    this.queued += 1
  }

  suspect(account: string): void {
    this.suspects.add(account)
  }

  clear(account: string): void {
    this.suspects.delete(account)
  }

  private mayAsk(account: string): boolean {
    return !this.suspects.has(account) || !this.inFlight.has(account)
  }

  /**
   * Takes the targets of one call from the accounts in turn; those of a suspect account alone.
   * `late` are targets that nobody waits for any more. `ended` must be called after the call.
   */
  take(now: number, isBlocked: (account: string) => boolean) {
    const batch: Array<Ticket> = []
    const blocked: Array<Ticket> = []
    const late: Array<Ticket> = []
    const takeFrom = (account: string, max: number) => {
      const waiting = this.accounts.get(account) ?? []
      this.accounts.delete(account)
      const taken = waiting.splice(0, max)
      this.queued -= taken.length
      // The account goes to the end, so that the next one is served first.
      if (waiting.length > 0) this.accounts.set(account, waiting)
      const asked = isBlocked(account) ? blocked : batch
      for (const ticket of taken) (ticket.deadline > now ? asked : late).push(ticket)
    }
    const turns = [...this.accounts.keys()].filter((account) => this.mayAsk(account))
    const [first] = turns
    if (first !== undefined && this.suspects.has(first)) takeFrom(first, this.batchSize)
    else {
      const others = turns.filter((account) => !this.suspects.has(account))
      while (
        batch.length < this.batchSize &&
        others.some((account) => this.accounts.has(account))
      ) {
        const share = Math.max(1, Math.floor((this.batchSize - batch.length) / others.length))
        for (const account of others) {
          if (batch.length < this.batchSize && this.accounts.has(account)) takeFrom(account, share)
        }
      }
    }
    const asked = new Set(batch.map(({ account }) => account))
    for (const account of asked) this.inFlight.set(account, (this.inFlight.get(account) ?? 0) + 1)
    const ended = () => {
      for (const account of asked) {
        const others = (this.inFlight.get(account) ?? 1) - 1
        if (others === 0) this.inFlight.delete(account)
        else this.inFlight.set(account, others)
      }
    }
    return { batch, blocked, late, ended }
  }
}

/** A repeated call would fail in the same way. */
const finalReasons = new Set<ProviderError["reason"]>(["Refused", "Malformed"])

const queueIsFull = failed("SERVER_ERROR", "too many URLs of the account wait for the provider")

/** Counts the outcomes, and logs the vendor's reason for each failure. */
const record = (
  meters: Meters.Meters,
  batch: ReadonlyArray<Ticket>,
  outcomes: ReadonlyArray<Outcome>,
) => {
  const lines: Array<Effect.Effect<void>> = []
  outcomes.forEach((outcome, i) => {
    if (outcome._tag === "Checked") return
    meters.failed[outcome.cause](1)
    const line = Effect.logDebug("The provider has no figures for a target.", outcome.detail)
    const { cause } = outcome
    lines.push(Effect.annotateLogs(line, { target: batch[i]?.target.page, cause }))
  })
  meters.checked(outcomes.length - lines.length)
  return lines.length === 0 ? Effect.void : Effect.all(lines, { discard: true })
}

const warnOfRefused = (account: string) =>
  Effect.logWarning(
    `The provider refused ${maxRefused} calls for URLs of the account ${account} in five minutes. For five minutes, new URLs of this account get PROVIDER_ERROR.`,
  )

const warnOfUnknown = (account: string) =>
  Effect.logWarning(
    `The account ${account} asked for more unknown URLs than its credits pay for. For up to an hour, new URLs of this account get PROVIDER_ERROR.`,
  )
