/**
 * The use case. Each submitted URL becomes a target or is invalid. Where every figure is known, the
 * request is charged in one commit. Otherwise the credits for the targets are held, the provider is
 * asked once for each distinct target, and what succeeded is charged; whatever happens in between,
 * the rest of the hold goes back.
 */
import { createHash } from "node:crypto"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { CurrentAccount, type AccountId } from "./Account.ts"
import { CreditLedger } from "./CreditLedger.ts"
import { Deadline } from "./Deadline.ts"
import type { Refusal } from "./ledger/Books.ts"
import type { Charge, Hold, HoldExpired } from "./ledger/Hold.ts"
import { type Credits, creditsOf } from "./ledger/LedgerEntry.ts"
import { isWithinScale, Outcome } from "./Metrics.ts"
import { MetricsProvider, type ProviderError } from "./MetricsProvider.ts"
import type { RequestId } from "./RequestId.ts"
import * as Span from "./Span.ts"
import * as StoredAnswer from "./StoredAnswer.ts"
import { type InvalidUrl, Target } from "./Target.ts"

export interface Request {
  readonly accountId: AccountId
  readonly requestId: RequestId
  readonly urls: ReadonlyArray<string>
  /** The client's name for the request. */
  readonly idempotencyKey?: string | undefined
}

/** What became of the submitted URLs, and what it cost. */
export interface Report {
  /** As they were submitted. */
  readonly urls: ReadonlyArray<string>
  /** One for each URL, in their order. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly creditsUsed: Credits
  /** True for the stored answer of an earlier request: nothing was charged this time. */
  readonly isReplay: boolean
}

export class AuthorityCheck extends Context.Tag("authority/AuthorityCheck")<
  AuthorityCheck,
  {
    /**
     * Checks the URLs at the account's expense. Before the provider is asked it fails with
     * InsufficientCredits, with IdempotencyKeyReused when the key was used for other URLs, or with
     * IdempotencyKeyInUse when the first request with the key has no answer yet. It fails with
     * HoldExpired when so much time went by that nothing could be charged. May die with StoreFailure.
     */
    readonly check: (request: Request) => Effect.Effect<Report, Refusal | HoldExpired>
  }
>() {}

/** `price`: whole credits for each successful check. `timeout`: of one request. */
export const layer = (options: {
  readonly price: Credits
  readonly timeout: Duration.DurationInput
}): Layer.Layer<AuthorityCheck, never, CreditLedger | MetricsProvider> =>
  Layer.effect(
    AuthorityCheck,
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const provider = yield* MetricsProvider
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

      /** The credits that the request may cost. */
      const holdOf = (
        { accountId, idempotencyKey: key, requestId, urls }: Request,
        targets: ReadonlyArray<Target>,
      ): Hold => ({
        accountId,
        requestId,
        amount: creditsOf(options.price * targets.length),
        idempotencyKey: key === undefined ? undefined : { key, fingerprint: fingerprint(urls) },
      })

      const chargeOf = ({ outcomes }: Checked): Charge => {
        const urls = outcomes.filter(({ _tag }) => _tag === "Checked").length
        return { amount: creditsOf(options.price * urls), urls }
      }

      const reportOf = ({ outcomes, urls }: Checked, { amount }: Charge): Report => ({
        urls,
        outcomes,
        creditsUsed: amount,
        isReplay: false,
      })

      /** Nothing is waited for in between, so the hold and its settlement are one commit. */
      const charge = Effect.fnUntraced(function* (hold: Hold, checked: Checked) {
        const charge = chargeOf(checked)
        const report = reportOf(checked, charge)
        const stored = yield* ledger.charge(hold, charge, answerOf(hold, report))
        if (Option.isSome(stored)) return replayOf(checked.urls, stored.value)
        yield* Metric.incrementBy(creditsCharged, charge.amount)
        return report
      })

      /** Asks the provider between two commits. */
      const buy = Effect.fnUntraced(function* (
        hold: Hold,
        urls: ReadonlyArray<string>,
        lookup: Effect.Effect<Checked>,
      ) {
        const stored = yield* ledger.open(hold)
        if (Option.isSome(stored)) return replayOf(urls, stored.value)
        const checked = yield* lookup
        const charge = chargeOf(checked)
        const report = reportOf(checked, charge)
        yield* ledger.settle(hold, charge, answerOf(hold, report))
        yield* Metric.incrementBy(creditsCharged, charge.amount)
        return report
      })

      /** What is refused holds nothing. After anything else the hold and the key are released. */
      const releaseUnlessRefused = (hold: Hold, cause: Cause.Cause<Refusal | HoldExpired>) =>
        Option.exists(Cause.failureOption(cause), ({ _tag }) => _tag !== "HoldExpired")
          ? Effect.void
          : Effect.catchAllCause(ledger.release(hold), (cause) =>
              Effect.logError("A hold was not released; its lease ends it.", cause),
            )

      /** Only the lookup can be interrupted. */
      const check = Effect.fnUntraced(function* (request: Request, restore: Restore) {
        const { accountId, requestId, urls } = request
        const deadline = (yield* Clock.currentTimeMillis) + timeoutMs
        const parsed = urls.map((url) => Target.parse(url))
        const targets = Arr.getRights(parsed)
        // Nobody is asked and nothing is charged, so there is nothing that a repeat could do twice.
        if (!Arr.isNonEmptyArray(targets)) {
          return reportOf(checkedOf(urls, parsed, []), { amount: creditsOf(0), urls: 0 })
        }
        const hold = holdOf(request, targets)
        const known = yield* provider.known(targets)
        if (Option.isSome(known)) return yield* charge(hold, checkedOf(urls, parsed, known.value))
        const lookup = lookupDistinct(targets, deadline).pipe(
          Effect.provideService(CurrentAccount, accountId),
          Effect.annotateLogs("requestId", requestId),
          Effect.map((outcomes) => checkedOf(urls, parsed, outcomes)),
        )
        return yield* Effect.onError(buy(hold, urls, restore(lookup)), (cause) =>
          releaseUnlessRefused(hold, cause),
        )
      })

      return {
        check: (request) =>
          Span.named("AuthorityCheck.check", () =>
            Effect.uninterruptibleMask((restore) => check(request, restore)),
          ),
      }
    }),
  )

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The submitted URLs and what became of them. */
type Checked = Pick<Report, "urls" | "outcomes">

/** `outcomes` are of the targets, in their order. */
const checkedOf = (
  urls: ReadonlyArray<string>,
  parsed: ReadonlyArray<Either.Either<Target, InvalidUrl>>,
  outcomes: ReadonlyArray<Outcome>,
): Checked => {
  let next = 0
  return {
    urls,
    outcomes: parsed.map((target) =>
      Either.isLeft(target) ? invalid(target.left) : withinScale(outcomes[next++] ?? unanswered),
    ),
  }
}

/** Two requests that ask for the same URLs in the same order are the same question. */
const fingerprint = (urls: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(urls)).digest("hex")

/** Stored under the key of the request, if the client has named it. */
const answerOf = ({ idempotencyKey }: Hold, report: Report): string | undefined =>
  idempotencyKey === undefined ? undefined : StoredAnswer.encode(report)

const replayOf = (urls: ReadonlyArray<string>, answer: string): Report => ({
  urls,
  ...StoredAnswer.decode(answer),
  isReplay: true,
})

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
