/**
 * The handlers of the endpoints in the API contract. They translate HTTP requests to calls of
 * `AuthorityCheck` and `CreditLedger`, and the results to HTTP answers.
 */
import type * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { AuthorityCheck } from "../AuthorityCheck.ts"
import type { CreditsResponse } from "../contract/Api.ts"
import { ServiceUnavailable, unavailableMessage } from "../contract/Envelope.ts"
import { batchPath, creditsPath } from "../contract/Wire.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Balance from "../ledger/Balance.ts"
import { creditsOf } from "../ledger/Credits.ts"
import * as CheckMeters from "../telemetry/CheckMeters.ts"
import * as Authorization from "./Authorization.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import * as Body from "./Body.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { refuse } from "./errorAnswer.ts"
import * as IdempotencyHeader from "./IdempotencyHeader.ts"
import * as ledgerErrors from "./ledgerErrors.ts"

export const add = (router: HttpLayerRouter.HttpRouter) =>
  Effect.gen(function* () {
    const authorize = yield* Authorization.make
    const { check } = yield* AuthorityCheck
    const ledger = yield* CreditLedger

    const checkBatch = Effect.fnUntraced(function* ({ headers, source }: HttpServerRequest) {
      const current = yield* CurrentRequest
      const accountId = yield* authorize(headers, current)
      const list = yield* Effect.catchAll(current.list ?? Body.batch.whole(source), refuse)
      const idempotencyKey = yield* Effect.catchAll(
        IdempotencyHeader.fromHeader(headers["idempotency-key"]),
        refuse,
      )
      const { id: requestId, known } = current
      const asked = { ...list, accountId, requestId, idempotencyKey, known }
      const report = yield* check(asked).pipe(
        // An expired hold is a fault of the service, so it is logged and answered with 500.
        Effect.catchTag("HoldExpired", Effect.die),
        Effect.catchAll((refusal) => refuse(ledgerErrors.errorOf(refusal, asked))),
      )
      current.report = report
      CheckMeters.count(report)
      return BatchAnswer.response(report)
    })

    const availableCredits = Effect.fnUntraced(function* ({ headers }: HttpServerRequest) {
      const accountId = yield* authorize(headers, yield* CurrentRequest)
      const balance = yield* Effect.catchAll(ledger.balance(accountId), () =>
        refuse(new ServiceUnavailable({ message: unavailableMessage })),
      )
      const answer: typeof CreditsResponse.Encoded = {
        success: true,
        // A negative balance is a defect of the ledger: `creditsOf` throws and the answer is 500.
        data: { availableCredits: creditsOf(Balance.available(balance)) },
      }
      return HttpServerResponse.unsafeJson(answer)
    })

    yield* router.add("POST", batchPath, (request) => Effect.merge(checkBatch(request)))
    yield* router.add("GET", creditsPath, (request) => Effect.merge(availableCredits(request)))
  })
