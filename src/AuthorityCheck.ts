/**
 * The use case. Each submitted URL becomes a target or is invalid. Where every figure is known, the
 * request is charged in one commit. Otherwise the credits for the targets are held, the provider is
 * asked once for each distinct target, and what succeeded is charged; whatever happens in between,
 * the rest of the hold goes back.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CurrentAccount } from "./Account.ts"
import { CreditLedger } from "./CreditLedger.ts"
import { commitGraceMs, Deadline, lookupGraceMs, remainingMs, waitUntil } from "./Deadline.ts"
import type { Refusal } from "./ledger/Books.ts"
import type { Hold, HoldExpired } from "./ledger/Hold.ts"
import type { Credits } from "./ledger/LedgerEntry.ts"
import { Outcome } from "./Metrics.ts"
import { MetricsProvider, type ProviderError } from "./MetricsProvider.ts"
import * as Report from "./Report.ts"
import type { StoreTimeout } from "./StoreTimeout.ts"
import type { Target } from "./Target.ts"

export class AuthorityCheck extends Context.Tag("authority/AuthorityCheck")<
  AuthorityCheck,
  {
    /**
     * Checks the URLs at the account's expense, by the Deadline. Before the provider is asked it
     * fails with InsufficientCredits, with IdempotencyKeyReused when the key was used for other URLs,
     * or with IdempotencyKeyInUse when the first request with the key has no answer yet. It fails
     * with HoldExpired when so much time went by that nothing could be charged, and with StoreTimeout
     * when a commit was not decided in time. May die with StoreFailure.
     */
    readonly check: (
      request: Report.Request,
    ) => Effect.Effect<Report.Report, Refusal | HoldExpired | StoreTimeout>
  }
>() {}

/** `price`: whole credits for each successful check. */
export const layer = (options: {
  readonly price: Credits
}): Layer.Layer<AuthorityCheck, never, CreditLedger | MetricsProvider> =>
  Layer.effect(
    AuthorityCheck,
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const provider = yield* MetricsProvider
      const { price } = options

      /** One outcome for each target; a provider's failure is the outcome of all of them. */
      const lookup = Effect.fnUntraced(function* (targets: Arr.NonEmptyReadonlyArray<Target>) {
        const timeLeftMs = yield* remainingMs
        return yield* provider.lookup(targets).pipe(
          // A provider that does not keep to the deadline, or cannot be interrupted, is left behind.
          Effect.disconnect,
          Effect.timeoutTo({
            duration: Math.max(0, timeLeftMs) + lookupGraceMs,
            onSuccess: (outcomes) => outcomes,
            onTimeout: () => targets.map(() => Report.unanswered),
          }),
          Effect.catchAll((error) =>
            Effect.as(
              Effect.logWarning("The provider gave no answer.", error.message),
              targets.map(() => providerFailed(error)),
            ),
          ),
          Effect.catchAllDefect((defect) =>
            Effect.as(
              Effect.logError("The lookup broke.", Cause.die(defect)),
              targets.map(() => broken),
            ),
          ),
        )
      })

      /** The provider is asked once for what was submitted twice. */
      const lookupDistinct = (targets: Arr.NonEmptyReadonlyArray<Target>) => {
        const [first, ...others] = targets
        const byPage = new Map(others.map((target) => [target.page, target]))
        byPage.delete(first.page)
        const distinct: Arr.NonEmptyReadonlyArray<Target> = [first, ...byPage.values()]
        return Effect.map(lookup(distinct), (outcomes) => {
          const given = new Map(distinct.map(({ page }, i) => [page, outcomes[i]]))
          return targets.map(({ page }) => given.get(page) ?? Report.unanswered)
        })
      }

      /** Nothing is waited for in between, so the hold and its settlement are one commit. */
      const charge = Effect.fnUntraced(function* (hold: Hold, report: Report.Report) {
        const stored = yield* ledger.charge(
          hold,
          Report.chargeOf(report, price),
          Report.storedAnswerOf(hold, report),
        )
        return Option.isSome(stored) ? Report.replay(report.urls, stored.value) : report
      })

      /** The answer waits for the release as long as for any commit, and no longer. */
      const release = (hold: Hold) =>
        Effect.flatMap(Deadline, (deadline) =>
          waitUntil(deadline + commitGraceMs)(ledger.release(hold)),
        )

      /** Asks the provider between two commits. */
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
          Effect.onError(() => release(hold)),
        )
      })

      /** Only the lookup can be interrupted. */
      const check = Effect.fnUntraced(function* (request: Report.Request, restore: Restore) {
        const { accountId, requestId, urls } = request
        const parsed = Report.parse(urls)
        const reportOf = (outcomes: ReadonlyArray<Outcome>) =>
          Report.make(urls, parsed, outcomes, price)
        const targets = Arr.getRights(parsed)
        // Nobody is asked and nothing is charged, so there is nothing that a repeat could do twice.
        if (!Arr.isNonEmptyArray(targets)) return reportOf([])
        const hold = Report.holdOf(request, targets, price)
        const known = yield* provider.known(targets)
        if (Option.isSome(known)) return yield* charge(hold, reportOf(known.value))
        const lookup = lookupDistinct(targets).pipe(
          Effect.provideService(CurrentAccount, accountId),
          Effect.annotateLogs("requestId", requestId),
          Effect.map(reportOf),
        )
        return yield* buy(hold, urls, restore(lookup))
      })

      return {
        check: (request) => Effect.uninterruptibleMask((restore) => check(request, restore)),
      }
    }),
  )

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const broken = Outcome.Failed({ reason: "SERVER_ERROR", detail: "the lookup broke" })

const providerFailed = (error: ProviderError) =>
  Outcome.Failed({ reason: "PROVIDER_ERROR", detail: error.message })
