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
import { CreditLedger } from "./CreditLedger.ts"
import type { Hold, HoldExpired, InsufficientCredits } from "./ledger/Hold.ts"
import { Deadline } from "./Deadline.ts"
import * as Fiberless from "./Fiberless.ts"
import { type Credits, creditsOf } from "./ledger/LedgerEntry.ts"
import { isWithinScale, Outcome } from "./Metrics.ts"
import { MetricsProvider, type ProviderError } from "./MetricsProvider.ts"
import { type Receipt, Receipts } from "./Receipts.ts"
import type { RequestId } from "./RequestId.ts"
import * as Span from "./Span.ts"
import { recallOf } from "./providers/Recall.ts"
import { type InvalidUrl, Target } from "./Target.ts"

/** What became of the submitted URLs, and what it cost. */
export interface Report {
  /** As they were submitted. */
  readonly urls: ReadonlyArray<string>
  /** One for each URL, in their order. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly successes: number
  readonly creditsUsed: Credits
}

export interface Request<Answer> {
  readonly accountId: AccountId
  readonly requestId: RequestId
  readonly urls: ReadonlyArray<string>
  /** Makes the answer out of the report, before anything is charged for it. */
  readonly tell: (report: Report) => Answer
  /** The receipt that is kept along with the charge, if one is to be kept. */
  readonly receiptOf?: (answer: Answer) => Receipt
}

export class AuthorityCheck extends Context.Tag("authority/AuthorityCheck")<
  AuthorityCheck,
  {
    /**
     * Checks the URLs at the account's expense. Fails with InsufficientCredits before the provider
     * is asked, and with HoldExpired when so much time went by that nothing could be charged.
     */
    readonly check: <Answer>(
      request: Request<Answer>,
    ) => Effect.Effect<Answer, InsufficientCredits | HoldExpired>
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
      const clock = yield* Effect.clock
      const timeoutMs = Duration.toMillis(options.timeout)

      /** One outcome for each target; a provider's failure is the outcome of all of them. */
      const lookup = (targets: Arr.NonEmptyReadonlyArray<Target>, deadline: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          provider.lookup(targets).pipe(
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
        const all = parsed.map((target) => {
          if (Either.isLeft(target)) return invalid(target.left)
          const outcome = withinScale(outcomes[next++] ?? unanswered)
          if (outcome._tag === "Checked") successes++
          return outcome
        })
        return { urls, outcomes: all, successes, creditsUsed: creditsOf(options.price * successes) }
      }

      /** Nothing is waited for in between, so the hold and its settlement are one. */
      const charged = <Answer>(hold: Hold, { creditsUsed, successes }: Report, answer: Answer) =>
        // Nothing but the answer is kept in memory meanwhile.
        Fiberless.map(ledger.charge(hold, { amount: creditsUsed, urls: successes }), () => {
          creditsCharged.unsafeUpdate(creditsUsed, [])
          return answer
        })

      /**
       * Between hold and settlement anything can happen, but not that neither follows; what is restored
       * to interruption is only the lookup. Its generator function is made once, and not for each
       * request: what one of these keeps is said in `sql/CreditLedger.ts`.
       */
      const buy = Effect.fnUntraced(function* <Answer>(
        hold: Hold,
        restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
        report: Effect.Effect<Report>,
        { receiptOf, tell }: Request<Answer>,
      ) {
        yield* ledger.hold(hold.accountId, hold.amount, hold.requestId)
        const exit = yield* restore(report).pipe(
          Effect.map((checked) => {
            const answer = tell(checked)
            return { answer, receipt: receiptOf?.(answer), ...checked }
          }),
          Effect.exit,
        )
        if (Exit.isSuccess(exit)) {
          const { answer, creditsUsed, receipt, successes } = exit.value
          yield* ledger.settle(hold, { amount: creditsUsed, urls: successes }, receipt)
          creditsCharged.unsafeUpdate(creditsUsed, [])
          return answer
        }
        yield* ledger.settle(hold, { amount: creditsOf(0), urls: 0 })
        return yield* Effect.failCause(exit.cause)
      })

      /** All URLs are invalid. */
      const free = <Answer>({ receiptOf, tell }: Request<Answer>, report: Report) => {
        const answer = tell(report)
        return receiptOf === undefined
          ? Effect.succeed(answer)
          : Effect.as(receipts.keep(receiptOf(answer)), answer)
      }

      const check = <Answer>(request: Request<Answer>) =>
        Span.named("AuthorityCheck.check", () => {
          const now = clock.unsafeCurrentTimeMillis()
          const { accountId, receiptOf, requestId, tell, urls } = request
          const parsed = urls.map((url) => Target.parse(url))
          const targets = Arr.getRights(parsed)
          if (!Arr.isNonEmptyArray(targets)) return free(request, reportOf(urls, parsed, []))

          const hold = { accountId, requestId, amount: creditsOf(options.price * targets.length) }
          // A named request may have lost its name to another one meanwhile: that is for settle to see.
          const known = receiptOf === undefined ? recallOf(provider)?.(targets, now) : undefined
          if (known !== undefined) {
            const report = reportOf(urls, parsed, known)
            return charged(hold, report, tell(report))
          }
          const report = lookupDistinct(targets, now + timeoutMs).pipe(
            Effect.provideService(CurrentAccount, accountId),
            Effect.annotateLogs("requestId", requestId),
            Effect.map((outcomes) => reportOf(urls, parsed, outcomes)),
          )
          return Effect.uninterruptibleMask((restore) => buy(hold, restore, report, request))
        })

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
