/**
 * The handlers of the endpoints in the API contract. They translate HTTP requests to calls of
 * `AuthorityCheck` and `CreditLedger`, and the results to HTTP answers.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { CurrentAccount } from "../Account.ts"
import { AuthorityCheck } from "../AuthorityCheck.ts"
import * as Balance from "../ledger/Balance.ts"
import { Api } from "../contract/Api.ts"
import { ServiceUnavailable, unavailableMessage } from "../contract/Envelope.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { creditsOf } from "../ledger/Credits.ts"
import * as CheckMeters from "../telemetry/CheckMeters.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import * as Body from "./Body.ts"
import { CurrentRequest } from "./Call.ts"
import * as IdempotencyHeader from "./IdempotencyHeader.ts"
import * as LimitHeader from "./LimitHeader.ts"
import { errorOf, refuse } from "./errorAnswer.ts"

/**
 * The handler decodes the request itself, because the framework's decoder reports only the first
 * violation and accepts content types other than JSON.
 */
export const metrics = HttpApiBuilder.group(Api, "metrics", (handlers) =>
  Effect.map(AuthorityCheck, ({ check }) =>
    handlers.handleRaw("checkBatch", ({ headers, request }) =>
      Effect.gen(function* () {
        const current = yield* CurrentRequest
        const accountId = yield* CurrentAccount
        const list = yield* Effect.catchAll(
          current.list ?? Body.batch.whole(request.source, accountId),
          (error) => refuse(error),
        )
        const idempotencyKey = yield* IdempotencyHeader.fromHeader(headers["idempotency-key"])
        const limit = yield* LimitHeader.fromHeader(headers["x-max-credits"])
        const { id: requestId, known } = current
        const asked = { ...list, accountId, requestId, idempotencyKey, limit, known }
        const report = yield* check(asked).pipe(
          // An expired hold is a fault of the service, so it is logged and answered with 500.
          Effect.catchTag("HoldExpired", Effect.die),
          Effect.catchAll((refusal) => refuse(errorOf(refusal, asked))),
        )
        current.report = report
        CheckMeters.count(report)
        return BatchAnswer.response(report)
      }),
    ),
  ),
)

export const quota = HttpApiBuilder.group(Api, "quota", (handlers) =>
  Effect.map(CreditLedger, (ledger) =>
    handlers.handle("availableCredits", () =>
      Effect.gen(function* () {
        const balance = yield* Effect.catchAll(ledger.balance(yield* CurrentAccount), () =>
          refuse(new ServiceUnavailable({ message: unavailableMessage })),
        )
        return {
          success: true as const,
          // A negative balance is a defect of the ledger: `creditsOf` throws and the answer is 500.
          data: { availableCredits: creditsOf(Balance.available(balance)) },
        }
      }),
    ),
  ),
)
