/** The contract, kept: from a request to the use case and back. */
import type { IncomingMessage } from "node:http"
import type * as HttpApi from "@effect/platform/HttpApi"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as Effect from "effect/Effect"
import type { AccountId } from "../Account.ts"
import { AuthorityCheck, type Report } from "../AuthorityCheck.ts"
import * as Balance from "../ledger/Balance.ts"
import { CreditLedger } from "../CreditLedger.ts"
import type {
  HoldExpired,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  InsufficientCredits,
} from "../ledger/Hold.ts"
import * as Fiberless from "../Fiberless.ts"
import { creditsOf } from "../ledger/LedgerEntry.ts"
import type { RequestId } from "../RequestId.ts"
import { type Api, BatchRequest, type CreditsResponse } from "./Api.ts"
import type { Answer, Handler } from "./Answer.ts"
import * as Authorization from "./Authorization.ts"
import * as BatchAnswer from "./BatchAnswer.ts"
import {
  Conflict,
  type Declared,
  PaymentRequired,
  refusal,
  UnprocessableContent,
} from "./Envelope.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import * as JsonBody from "./JsonBody.ts"
import type * as RateLimit from "./RateLimit.ts"
import * as RequestLog from "./RequestLog.ts"

type Groups =
  typeof Api extends HttpApi.HttpApi<infer _, infer Groups, infer _E, infer _R> ? Groups : never

/** By the names of the contract's endpoints, so that none is forgotten. */
export type Handlers = Readonly<
  Record<HttpApiEndpoint.HttpApiEndpoint.Name<HttpApiGroup.HttpApiGroup.Endpoints<Groups>>, Handler>
>

/** The rest of a handler, once it is known whose the request is. */
type Authorized = (
  account: AccountId,
  request: IncomingMessage,
  requestId: RequestId,
) => Effect.Effect<Answer, Declared>

/**
 * Plain functions from Node's request to the answer: what the framework's builder would do for each
 * request anew, beside the contract itself, costs several times what the request does.
 */
export const make = (options: { readonly rateLimit: RateLimit.Limit | undefined }) =>
  Effect.gen(function* () {
    const authorize = yield* Authorization.make(options)
    const { check } = yield* AuthorityCheck
    const ledger = yield* CreditLedger
    const startLine = yield* RequestLog.make

    /** Nothing else about a request is looked at before its key. */
    const authorized =
      (handle: Authorized): Handler =>
      (request, requestId) =>
        Fiberless.catchAll(
          Fiberless.flatMap(authorize(request.headers["x-api-key"]), (account) =>
            handle(account, request, requestId),
          ),
          (error) => Effect.succeed("_tag" in error ? refusal(error) : error),
        )

    const endpoint = (name: keyof Handlers, handle: Authorized): Handler =>
      startLine === undefined
        ? authorized(handle)
        : (request, requestId) =>
            Effect.suspend(() => {
              const line = startLine(name, requestId)
              const noted: Authorized = (account, ...rest) => {
                line.belongsTo(account)
                return handle(account, ...rest)
              }
              return Effect.tap(authorized(noted)(request, requestId), line.write)
            })

    const handlers: Handlers = {
      checkBatch: endpoint("checkBatch", (account, request, requestId) =>
        Fiberless.catchAll(
          Fiberless.flatMap(decodeBatchRequest(request), ({ urls }) =>
            Fiberless.flatMap(
              IdempotencyKey.fromHeader(request.headers["idempotency-key"]?.toString()),
              (idempotencyKey) =>
                Effect.map(
                  check({ accountId: account, requestId, urls, idempotencyKey }),
                  answerOf,
                ),
            ),
          ),
          (error) => Effect.catchTags(Effect.fail(error), refusals),
        ),
      ),

      availableCredits: endpoint("availableCredits", (account) =>
        Fiberless.map(ledger.balance(account), (balance) => {
          const response: typeof CreditsResponse.Encoded = {
            success: true,
            // Books that went wrong are a defect of ours, so this throws.
            data: { availableCredits: creditsOf(Balance.available(balance)) },
          }
          return { status: 200, headers: noHeaders, body: JSON.stringify(response) }
        }),
      ),
    }
    return handlers
  })

const refusals = {
  InsufficientCredits: ({ message }: InsufficientCredits) => new PaymentRequired({ message }),
  IdempotencyKeyReused: ({ message }: IdempotencyKeyReused) =>
    new UnprocessableContent({ message }),
  IdempotencyKeyInUse: ({ message }: IdempotencyKeyInUse) => new Conflict({ message }),
  // Ours to mend: the defect is logged, and answered like any other.
  HoldExpired: (expired: HoldExpired) => Effect.die(expired),
}

const decodeBatchRequest = JsonBody.decoder(BatchRequest)

const noHeaders = {}

const replayed = { "idempotent-replayed": "true" }

const answerOf = (report: Report): Answer => {
  const { body, isAscii } = BatchAnswer.json(report)
  return { status: 200, headers: report.isReplay ? replayed : noHeaders, body, isAscii }
}
