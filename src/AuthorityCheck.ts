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
import * as Schema from "effect/Schema"
import { CurrentAccount, type AccountId } from "./Account.ts"
import { CreditLedger, type HoldExpired, type InsufficientCredits } from "./CreditLedger.ts"
import { Deadline } from "./Deadline.ts"
import { Credits, type RequestId } from "./LedgerEntry.ts"
import { Metrics, Outcome } from "./Metrics.ts"
import { MetricsProvider, type ProviderError } from "./MetricsProvider.ts"
import { type Receipt, Receipts } from "./Receipts.ts"
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
        const distinct = Arr.dedupeWith(targets, (a, b) => a.page === b.page)
        return Effect.map(
          lookup(distinct, deadline),
          (outcomes) => new Map(Arr.zip(distinct, outcomes).map(([{ page }, o]) => [page, o])),
        )
      }

      const check = Effect.fn("AuthorityCheck.check")(function* (
        account: AccountId,
        requestId: RequestId,
        urls: ReadonlyArray<string>,
        receiptOf?: (report: Report) => Receipt,
      ) {
        const deadline = (yield* Clock.currentTimeMillis) + timeoutMs
        const parsed = urls.map((url) => ({ url, target: Target.parse(url) }))
        const targets = Arr.getRights(parsed.map(({ target }) => target))
        const report = (outcomes: ReadonlyMap<string, Outcome>): Report => {
          const checks = parsed.map(({ target, url }) => ({
            url,
            outcome: Either.match(target, {
              onLeft: invalid,
              onRight: ({ page }) => outcomes.get(page) ?? unanswered,
            }),
          }))
          const successes = checks.filter(({ outcome }) => outcome._tag === "Checked").length
          return { checks, successes, creditsUsed: Credits.make(options.price * successes) }
        }
        if (!Arr.isNonEmptyArray(targets)) {
          const free = report(new Map())
          if (receiptOf !== undefined) yield* receipts.keep(receiptOf(free))
          return free
        }

        return yield* Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const amount = Credits.make(options.price * targets.length)
            const hold = yield* ledger.hold(account, amount, requestId)
            const exit = yield* lookupDistinct(targets, deadline).pipe(
              Effect.provideService(CurrentAccount, account),
              Effect.annotateLogs("requestId", requestId),
              restore,
              Effect.map((outcomes) => {
                const checked = report(outcomes)
                return { checked, receipt: receiptOf?.(checked) }
              }),
              Effect.exit,
            )
            if (Exit.isSuccess(exit)) {
              const { checked, receipt } = exit.value
              const charge = { amount: checked.creditsUsed, urls: checked.successes }
              yield* ledger.settle(hold, charge, receipt)
              creditsCharged.unsafeUpdate(charge.amount, [])
              return checked
            }
            yield* ledger.settle(hold, { amount: Credits.make(0), urls: 0 })
            return yield* Effect.failCause(exit.cause)
          }),
        )
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
  outcome._tag === "Failed" || isMetrics(outcome.metrics) ? outcome : offScale

const isMetrics = Schema.is(Metrics)

const offScale = Outcome.Failed({ reason: "PROVIDER_ERROR", detail: "a figure is off the scale" })

const broken = Outcome.Failed({ reason: "SERVER_ERROR", detail: "the lookup broke" })

const invalid = ({ problem }: InvalidUrl) =>
  Outcome.Failed({ reason: "INVALID_URL", detail: problem })

const providerFailed = (error: ProviderError) =>
  Outcome.Failed({ reason: "PROVIDER_ERROR", detail: error.message })
