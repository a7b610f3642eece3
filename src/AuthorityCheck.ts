/**
 * The use case: each submitted URL becomes a target or is invalid; the credits for the targets are
 * held; the provider is asked once for each distinct target; what succeeded is charged, and the
 * rest of the hold goes back, whatever happens in between.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { CurrentAccount, type AccountId } from "./Account.ts"
import {
  CreditLedger,
  type Hold,
  type HoldExpired,
  type InsufficientCredits,
} from "./CreditLedger.ts"
import { Deadline } from "./Deadline.ts"
import { type Credits, creditsOf, type RequestId } from "./LedgerEntry.ts"
import { isWithinScale, Outcome } from "./Metrics.ts"
import { MetricsProvider, type ProviderError } from "./MetricsProvider.ts"
import { type Receipt, Receipts } from "./Receipts.ts"
import * as Span from "./Span.ts"
import { type InvalidUrl, Target } from "./Target.ts"

/** What became of each submitted URL, in the order of submission, and what it cost. */
export interface Report {
  readonly checks: ReadonlyArray<{ readonly url: string; readonly outcome: Outcome }>
  readonly successes: number
  readonly creditsUsed: Credits
}

export class AuthorityCheck extends Context.Tag("authority/AuthorityCheck")<
  AuthorityCheck,
  {
    /**
     * Checks the URLs at the account's expense. Fails with InsufficientCredits before the provider
     * is asked, and with HoldExpired when so much time went by that nothing could be charged. With
     * `receiptOf`, the report's receipt is kept along with the charge.
     */
    readonly check: (
      account: AccountId,
      requestId: RequestId,
      urls: ReadonlyArray<string>,
      receiptOf?: (report: Report) => Receipt,
    ) => Effect.Effect<Report, InsufficientCredits | HoldExpired>
  }
>() {}

/** `price`: whole credits for each successful check. `timeout`: of one request. */
export const layer = (options: {
  readonly price: Credits
  readonly timeout: Duration.DurationInput
}): Layer.Layer<AuthorityCheck, never, CreditLedger | MetricsProvider | Receipts> =>
  Layer.effect(
    AuthorityCheck,
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const provider = yield* MetricsProvider
      const receipts = yield* Receipts
      const timeoutMs = Duration.toMillis(options.timeout)

      /** One outcome for each target; a provider's failure is the outcome of all of them. */
      const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>, deadline: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          provider.lookup(targets).pipe(
            Effect.map((outcomes) => outcomes.map(withinScale)),
            Effect.provideService(Deadline, deadline),
            // For a provider that does not keep to the deadline by itself.
            Effect.timeoutTo({
              duration: Math.max(0, deadline - now) + deadlineGraceMs,
              onSuccess: (outcomes) => outcomes,
              onTimeout: () => targets.map(() => unanswered),
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
          ),
        )

      /** The provider is asked once for what was submitted twice. */
      const lookupDistinct = (targets: Arr.NonEmptyReadonlyArray<Target>, deadline: number) => {
        const [first, ...others] = targets
        const byPage = new Map(others.map((target) => [target.page, target]))
        byPage.delete(first.page)
        const distinct: Arr.NonEmptyReadonlyArray<Target> = [first, ...byPage.values()]
        return Effect.map(lookup(distinct, deadline), (outcomes) => {
          const given = new Map(distinct.map(({ page }, i) => [page, outcomes[i]]))
          return targets.map(({ page }) => given.get(page) ?? unanswered)
        })
      }

      /** `outcomes` are of the targets, in their order. */
      const reportOf = (
        urls: ReadonlyArray<string>,
        parsed: ReadonlyArray<Either.Either<Target, InvalidUrl>>,
        outcomes: ReadonlyArray<Outcome>,
      ): Report => {
        let [next, successes] = [0, 0]
        const checks = urls.map((url, i) => {
          const target = parsed[i]
          const outcome =
            target === undefined || Either.isRight(target)
              ? (outcomes[next++] ?? unanswered)
              : invalid(target.left)
          if (outcome._tag === "Checked") successes++
          return { url, outcome }
        })
        return { checks, successes, creditsUsed: creditsOf(options.price * successes) }
      }

      const chargeOf = ({ creditsUsed, successes }: Report) => ({
        amount: creditsUsed,
        urls: successes,
      })

      /** Between hold and settlement anything can happen, but not that neither follows. */
      const bought = (
        hold: Hold,
        report: Effect.Effect<Report>,
        receiptOf: ((report: Report) => Receipt) | undefined,
      ) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            yield* ledger.hold(hold.accountId, hold.amount, hold.requestId)
            const exit = yield* restore(report).pipe(
              Effect.map((checked) => ({ checked, receipt: receiptOf?.(checked) })),
              Effect.exit,
            )
            if (Exit.isSuccess(exit)) {
              const { checked, receipt } = exit.value
              yield* ledger.settle(hold, chargeOf(checked), receipt)
              creditsCharged.unsafeUpdate(checked.creditsUsed, [])
              return checked
            }
            yield* ledger.settle(hold, { amount: creditsOf(0), urls: 0 })
            return yield* Effect.failCause(exit.cause)
          }),
        )

      const check: AuthorityCheck["Type"]["check"] = (account, requestId, urls, receiptOf) =>
        Effect.clockWith((clock) => {
          const now = clock.unsafeCurrentTimeMillis()
          const parsed = urls.map((url) => Target.parse(url))
          const targets = Arr.getRights(parsed)
          if (!Arr.isNonEmptyArray(targets)) {
            const free = reportOf(urls, parsed, [])
            return receiptOf === undefined
              ? Effect.succeed(free)
              : Effect.as(receipts.keep(receiptOf(free)), free)
          }
          const amount = creditsOf(options.price * targets.length)
          const hold = { accountId: account, requestId, amount }

          // A named request may have lost its name to another one meanwhile: that is for settle to see.
          const known = receiptOf === undefined ? provider.recall?.(targets, now) : undefined
          if (known !== undefined) {
            // Nothing is waited for in between, so the hold and its settlement are one.
            const report = reportOf(urls, parsed, known.map(withinScale))
            return Effect.map(ledger.charge(hold, chargeOf(report)), () => {
              creditsCharged.unsafeUpdate(report.creditsUsed, [])
              return report
            })
          }
          const report = lookupDistinct(targets, now + timeoutMs).pipe(
            Effect.provideService(CurrentAccount, account),
            Effect.annotateLogs("requestId", requestId),
            Effect.map((outcomes) => reportOf(urls, parsed, outcomes)),
          )
          return bought(hold, report, receiptOf)
        }).pipe(Span.named("AuthorityCheck.check"))

      return { check }
    }),
  )

const creditsCharged = Metric.counter("authority_credits_charged", {
  description: "credits charged by this process",
  incremental: true,
})

/** How long past the deadline a provider may take to hand over what it has. */
const deadlineGraceMs = 500

const unanswered = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "no answer in time" })

/** No response can carry a figure off the scale, and what cannot be answered must not be charged. */
const withinScale = (outcome: Outcome): Outcome =>
  outcome._tag === "Failed" || isWithinScale(outcome.metrics) ? outcome : offScale

const offScale = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "a figure is off the scale" })

const broken = Outcome.Failed({ reason: "SERVER_ERROR", detail: "the lookup broke" })

const invalid = ({ problem }: InvalidUrl) =>
  Outcome.Failed({ reason: "INVALID_URL", detail: problem })

const providerFailed = (error: ProviderError) =>
  Outcome.Failed({ reason: "PROVIDER_ERROR", detail: error.message })
