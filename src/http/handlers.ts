/**
 * The handlers of the API contract's endpoints. They turn HTTP requests into calls of
 * `AuthorityCheck` and `CreditLedger`, and the results into HTTP answers.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import type { AccountId } from "../accounts/Account.ts"
import { entryOf } from "../accounts/AccountActs.ts"
import { type ApiKeyId, budgetDocument } from "../accounts/ApiKey.ts"
import { type AccountKey, CurrentKey } from "../accounts/ApiKeys.ts"
import { AuthorityCheck } from "../check/AuthorityCheck.ts"
import * as Batch from "../check/Batch.ts"
import * as Balance from "../ledger/Balance.ts"
import {
  Api,
  type BatchHeaders,
  type HistoryResponse,
  type PreviewResponse,
  type StatementResponse,
  type UsageResponse,
} from "../contract/Api.ts"
import { InvalidRequest } from "../contract/Envelope.ts"
import { maxRows } from "../contract/Limits.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import * as FigureHistory from "../providers/figures/FigureHistory.ts"
import { letOthersRun } from "../ledger/letOthersRun.ts"
import { creditsOf } from "../ledger/Credits.ts"
import type { InvalidUrl } from "../check/Target.ts"
import * as Meters from "./telemetry/Meters.ts"
import { isoTime } from "../accounts/TimeSpan.ts"
import { UsageReport } from "../ledger/usage/UsageReport.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import { type CurrentRequest, currentRequest } from "./CurrentRequest.ts"
import { errorOf, reading, refuse, refuseUnavailable } from "./errorAnswer.ts"

type OneByOne = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Makes a function that runs effects one after another, each in a separate turn of the event loop,
 * so that simultaneous requests for long answers do not delay all others.
 */
export const makeOneByOne = Effect.map(
  Effect.makeSemaphore(1),
  (semaphore): OneByOne =>
    (effect) =>
      semaphore.withPermits(1)(Effect.zipRight(letOthersRun, effect)),
)

export const metrics = HttpApiBuilder.group(Api, "metrics", (handlers) =>
  Effect.map(
    Effect.all([AuthorityCheck, CreditLedger, FigureHistory.FigureHistory, makeOneByOne]),
    ([useCase, ledger, history, oneByOne]) =>
      handlers
        .handleRaw("history", answerHistory(history, "client", oneByOne))
        .handle("checkBatch", ({ headers, payload: { urls } }) =>
          Effect.gen(function* () {
            const asked = { urls, headers, key: yield* CurrentKey }
            return yield* Effect.catchAll(checkBatch(useCase, asked, yield* currentRequest), refuse)
          }),
        )
        .handle("previewBatch", ({ headers, payload: { urls } }) =>
          Effect.gen(function* () {
            const { accountId, budget, id } = yield* CurrentKey
            const { entries, maxCredits, summary } = yield* useCase.preview(
              Batch.parse(urls),
              headers["cache-control"],
            )
            const availableCredits = yield* availableCreditsOf(ledger, accountId)
            const spent = budget == null ? null : yield* budgetOf(ledger, id)
            const affordable =
              maxCredits <= Math.min(availableCredits, spent?.remaining ?? Infinity)
            return unencoded<typeof PreviewResponse.Encoded>({
              success: true,
              data: { entries, summary },
              quota: { maxCredits, availableCredits, affordable },
            })
          }),
        ),
  ),
)

interface Asked {
  readonly urls: ReadonlyArray<string>
  readonly headers: typeof BatchHeaders.Type
  readonly key: AccountKey
}

/** Checks a batch and makes the answer. Fails with an error of the contract. */
export const checkBatch = (
  { check }: AuthorityCheck["Type"],
  { headers, key, urls }: Asked,
  current: CurrentRequest["Type"],
) =>
  Effect.gen(function* () {
    const batch = {
      ...Batch.parse(urls),
      accountId: key.accountId,
      apiKeyId: key.id,
      requestId: current.id,
      idempotencyKey: headers["idempotency-key"],
      limit: headers["x-max-credits"],
      wantsSources: headers.prefer ?? false,
      maxAgeMs: headers["cache-control"],
    }
    const report = yield* Effect.catchAll(check(batch), (refusal) =>
      // An expired hold is a fault of the service, so it is logged and answered with 500.
      refusal._tag === "HoldExpired" ? Effect.die(refusal) : Effect.fail(errorOf(refusal, batch)),
    )
    current.report = report
    Meters.checked(report)
    return HttpServerResponse.unsafeJson(BatchAnswer.of(report), {
      headers: {
        ...(report.isReplay && { "idempotent-replayed": "true" }),
        ...(report.sources && { "preference-applied": "provenance", vary: "Prefer" }),
      },
    })
  })

/**
 * Skips the schema, which would take longer to encode a long list than all other steps together.
 */
const unencoded = <Answer>(answer: Answer) => HttpServerResponse.unsafeJson(answer)

export const answerHistory =
  (
    history: FigureHistory.FigureHistory["Type"],
    reader: FigureHistory.Reader,
    oneByOne: OneByOne,
  ) =>
  ({ urlParams: { limit, url = "" } }: { readonly urlParams: HistoryQuery }) =>
    history.of(url, limit, reader).pipe(
      Effect.map((found) =>
        unencoded<typeof HistoryResponse.Encoded>({
          success: true,
          data: FigureHistory.documentOf(found),
        }),
      ),
      oneByOne,
      reading,
      Effect.catchTag("InvalidUrl", noTarget),
    )

interface HistoryQuery {
  readonly url?: string
  readonly limit: number
}

/** Refuses a request whose `url` is absent or not a public web address. */
const noTarget = ({ input, problem }: InvalidUrl) => {
  const message =
    input === "" ? "The parameter url is absent" : `The url cannot be checked: ${problem}`
  return InvalidRequest.because([{ code: "invalid_url", message, path: ["url"] }], false)
}

const availableCreditsOf = (ledger: CreditLedger["Type"], accountId: AccountId) =>
  ledger.balance(accountId).pipe(
    Effect.catchAll(refuseUnavailable),
    // A negative balance is a defect of the ledger: `creditsOf` throws, and the answer is a 500.
    Effect.map((balance) => creditsOf(Balance.available(balance))),
  )

const budgetOf = ({ budgets }: CreditLedger["Type"], key: ApiKeyId) =>
  budgets([key]).pipe(
    Effect.catchAll(refuseUnavailable),
    Effect.map((all) => all.get(key) ?? null),
  )

export const quota = HttpApiBuilder.group(Api, "quota", (handlers) =>
  Effect.map(Effect.all([CreditLedger, UsageReport, makeOneByOne]), ([ledger, report, oneByOne]) =>
    handlers
      .handle("availableCredits", () =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentKey
          const availableCredits = yield* availableCreditsOf(ledger, accountId)
          return { success: true as const, data: { availableCredits } }
        }),
      )
      .handle("key", () =>
        Effect.gen(function* () {
          const key = yield* CurrentKey
          const budget = yield* budgetOf(ledger, key.id)
          return {
            success: true as const,
            data: {
              id: key.id,
              label: key.label,
              account: key.accountName,
              scopes: key.scopes,
              expiresAt: isoTime(key.expiresAt),
              budget: budget && budgetDocument(budget),
            },
          }
        }),
      )
      .handleRaw("usage", ({ urlParams }) =>
        Effect.gen(function* () {
          const { accountId, accountName } = yield* CurrentKey
          const rows = yield* report.rows({ ...urlParams, account: accountId, limit: maxRows })
          return unencoded<typeof UsageResponse.Encoded>({
            success: true,
            data: { account: accountName, rows },
          })
        }).pipe(oneByOne, reading),
      )
      .handleRaw("statement", ({ urlParams }) =>
        Effect.gen(function* () {
          const { accountId, accountName } = yield* CurrentKey
          const entries = (yield* ledger.recent(accountId, urlParams)).map(entryOf)
          return unencoded<typeof StatementResponse.Encoded>({
            success: true,
            data: { account: accountName, entries },
          })
        }).pipe(oneByOne, reading),
      ),
  ),
)
