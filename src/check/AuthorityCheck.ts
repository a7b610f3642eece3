/**
 * Checks submitted URLs at the expense of an account. Other modules call this the use case. Each
 * valid URL becomes a target. When the provider already knows the outcome of every target, one
 * commit charges the account. Otherwise `check` holds credits, looks up each distinct target once,
 * charges the account for the successful checks and returns the rest. A request that fails or is
 * interrupted costs nothing.
 *
 * A repeated request gets the answer of the first: `http/handlers` passes the `Idempotency-Key` to
 * `check`, and `holdOf` puts it into the hold. If the key has a stored answer, `CreditLedger`
 * returns it and charges nothing, and `Report.replay` decodes it.
 */
import { hash } from "node:crypto"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Batch from "./Batch.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { commitGraceMs, Deadline, lookupGraceMs, remainingMs, waitUntil } from "./Deadline.ts"
import type { Refusal } from "../ledger/Books.ts"
import type { Hold, HoldExpired } from "../ledger/Hold.ts"
import { type Credits, creditsOf } from "../ledger/Credits.ts"
import { broken, type Outcome, unanswered } from "./Metrics.ts"
import {
  failuresOf,
  logBug,
  type LookupContext,
  MetricsProvider,
} from "../providers/MetricsProvider.ts"
import * as Preview from "./Preview.ts"
import * as Report from "./Report.ts"
import type { StoreTimeout } from "../ledger/StoreTimeout.ts"
import type { Target } from "./Target.ts"
import { Recent } from "./Recent.ts"
import * as MonotonicClock from "./MonotonicClock.ts"

export class AuthorityCheck extends Context.Tag("authority/AuthorityCheck")<
  AuthorityCheck,
  {
    /**
     * Checks the URLs before the Deadline and charges the account. Fails before any lookup with
     * InsufficientCredits or LimitExceeded, with IdempotencyKeyReused when the key was used with
     * another fingerprint, or with IdempotencyKeyInUse while the first request has no answer. Fails
     * with HoldExpired and charges nothing when the hold ended before it was settled. Fails with
     * StoreTimeout when a commit takes too long. May die with StoreFailure.
     */
    readonly check: (
      batch: Batch.Batch,
    ) => Effect.Effect<Report.Report, Refusal | HoldExpired | StoreTimeout>
    /** Says what a check of the URLs would do and cost. Asks no vendor and holds no credits. */
    readonly preview: (
      list: Batch.UrlList,
      maxAgeMs?: number | undefined,
    ) => Effect.Effect<Preview.Preview>
  }
>() {}

/** `price` is the number of credits for one successful check. */
export const layer = ({
  price,
}: {
  readonly price: Credits
}): Layer.Layer<AuthorityCheck, never, CreditLedger | MetricsProvider> =>
  Layer.scoped(
    AuthorityCheck,
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const provider = yield* MetricsProvider
      /** The credits that this process charged each account in the last hour. */
      const charged = new Recent(3_600_000)
      const count = (accountId: string, { creditsUsed, isReplay }: Report.Report) =>
        Effect.map(MonotonicClock.now, (now) => {
          if (!isReplay) charged.add(accountId, creditsUsed, now)
        })
      const clock = yield* Effect.clock

      // Holds and charges credits in one commit, for a request whose outcomes are all known.
      // Charges nothing for a repeated request, which gets the stored answer.
      const charge = (hold: Hold, report: Report.Report) =>
        Effect.map(
          ledger.charge(hold, Report.chargeOf(report, price), Report.storedAnswerOf(hold, report)),
          (stored) => (Option.isSome(stored) ? Report.replay(report.urls, stored.value) : report),
        )

      // Opens the hold, runs the lookup and settles the hold. A repeated request gets the stored
      // answer.
      const buy = Effect.fnUntraced(function* (
        hold: Hold,
        urls: ReadonlyArray<string>,
        lookup: Effect.Effect<Report.Report>,
      ) {
        const stored = yield* ledger.open(hold)
        if (Option.isSome(stored)) return Report.replay(urls, stored.value)
        return yield* lookup.pipe(
          Effect.tap((report) =>
            ledger.settle(
              hold,
              Report.chargeOf(report, price),
              Report.storedAnswerOf(hold, report),
            ),
          ),
          Effect.onError(() => release(ledger, hold)),
        )
      })

      /** A check can be interrupted only during its lookup. */
      const check = Effect.fnUntraced(function* (batch: Batch.Batch, restore: Restore) {
        const { accountId, requestId, targets, urls } = batch
        const reportOf = (outcomes: ReadonlyArray<Outcome>) => {
          const report = Report.make(batch, outcomes, price)
          return batch.wantsSources === true
            ? Report.withSources(report, provider.name, clock.unsafeCurrentTimeMillis())
            : report
        }
        // Every URL is invalid. The check costs nothing, however often it is repeated, so the
        // idempotency key need not be stored.
        if (!Arr.isNonEmptyReadonlyArray(targets)) return reportOf([])
        const hold = holdOf(batch, price)
        // `known` takes no maximum age, so with one, `lookup` finds the cached figures that are
        // young enough.
        const known = batch.maxAgeMs === undefined ? yield* provider.known(targets) : Option.none()
        if (Option.isSome(known)) return yield* charge(hold, reportOf(known.value))
        const lookup = lookUp(provider, targets, {
          account: accountId,
          deadline: yield* Deadline,
          maxAgeMs: batch.maxAgeMs ?? Number.POSITIVE_INFINITY,
          requestId,
          charged: charged.count(accountId, yield* MonotonicClock.now),
        })
        return yield* buy(hold, urls, restore(Effect.map(lookup, reportOf)))
      })

      return {
        preview: (list, maxAgeMs) =>
          Effect.map(
            Arr.isNonEmptyReadonlyArray(list.targets)
              ? provider.prospects(list.targets, maxAgeMs)
              : Effect.succeed([]),
            (prospects) => Preview.make(list, prospects, price),
          ),
        check: (batch) =>
          Effect.tap(
            Effect.uninterruptibleMask((restore) => check(batch, restore)),
            (report) => count(batch.accountId, report),
          ),
      }
    }),
  )

/** Makes the hold of a batch, large enough for a successful check of every target. */
const holdOf = (batch: Batch.Batch, price: Credits): Hold => {
  const { accountId, apiKeyId, idempotencyKey: key, limit, requestId, targets, urls } = batch
  return {
    accountId,
    requestId,
    amount: creditsOf(price * targets.length),
    idempotencyKey:
      key === undefined ? undefined : { key, fingerprint: fingerprint(urls, batch.wantsSources) },
    limit,
    apiKeyId,
  }
}

// Hash of the submitted URLs and the honoured preferences. Batches have the same fingerprint when
// they have the same URLs in the same order and both or neither ask for the provenance.
const fingerprint = (urls: ReadonlyArray<string>, wantsSources = false): string =>
  hash("sha256", JSON.stringify(wantsSources ? { urls, wantsSources } : urls))

const lookUp = (
  provider: MetricsProvider["Type"],
  targets: Arr.NonEmptyReadonlyArray<Target>,
  context: LookupContext,
): Effect.Effect<ReadonlyArray<Outcome>> => {
  const byPage = new Map(targets.map((target) => [target.page, target]))
  if (byPage.size === targets.length) return lookUpDistinct(provider, targets, context)
  const [first] = targets
  byPage.delete(first.page)
  const distinct: Arr.NonEmptyReadonlyArray<Target> = [first, ...byPage.values()]
  return Effect.map(lookUpDistinct(provider, distinct, context), (outcomes) => {
    const given = new Map(distinct.map(({ page }, i) => [page, outcomes[i]]))
    return targets.map(({ page }) => given.get(page) ?? unanswered)
  })
}

// Returns one outcome for each target. When the call to the provider fails, every outcome is a
// failure with that error.
const lookUpDistinct = (
  provider: MetricsProvider["Type"],
  targets: Arr.NonEmptyReadonlyArray<Target>,
  context: LookupContext,
) =>
  remainingMs.pipe(
    Effect.flatMap((ms) =>
      Effect.timeoutTo(
        // A provider that ignores the deadline or an interruption continues in the background.
        Effect.disconnect(provider.lookup(targets, context)),
        {
          duration: Math.max(0, ms + lookupGraceMs),
          onSuccess: (outcomes): ReadonlyArray<Outcome> => outcomes,
          onTimeout: () => targets.map(() => unanswered),
        },
      ),
    ),
    failuresOf(targets),
    Effect.catchAllDefect((defect) =>
      Effect.as(
        logBug(Cause.die(defect)),
        targets.map(() => broken),
      ),
    ),
  )

// Waits for the release of the hold until `commitGraceMs` after the deadline. After that, the
// release continues in the background.
const release = (ledger: CreditLedger["Type"], hold: Hold) =>
  Effect.flatMap(Deadline, (deadline) => waitUntil(deadline + commitGraceMs)(ledger.release(hold)))

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
