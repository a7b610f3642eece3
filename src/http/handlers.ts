/** The contract, kept: from a request to the use case and back. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type AccountId, CurrentAccount } from "../Account.ts"
import { AuthorityCheck, type Report } from "../AuthorityCheck.ts"
import * as Balance from "../Balance.ts"
import { CreditLedger } from "../CreditLedger.ts"
import type { RequestId } from "../LedgerEntry.ts"
import { Receipts } from "../Receipts.ts"
import { Api, BatchRequest, BatchResponse, CreditsResponse } from "./Api.ts"
import { CurrentRequestId } from "./CurrentRequest.ts"
import { Conflict, PaymentRequired, UnprocessableContent } from "./Envelope.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import * as JsonBody from "./JsonBody.ts"

export const metrics = HttpApiBuilder.group(Api, "metrics", (handlers) =>
  Effect.gen(function* () {
    const { check } = yield* AuthorityCheck
    const receipts = yield* Receipts

    const checkOnce = (accountId: AccountId, requestId: RequestId, urls: ReadonlyArray<string>) =>
      Effect.map(check(accountId, requestId, urls), (report) => respond(bodyOf(report)))

    /** The first answer to a request that its client has named, however often it is sent. */
    const checkNamed = (
      key: string,
      accountId: AccountId,
      requestId: RequestId,
      urls: ReadonlyArray<string>,
    ) => {
      const claim = { accountId, key, requestId, fingerprint: IdempotencyKey.fingerprint(urls) }
      const receiptOf = (report: Report) => ({ claim, body: bodyOf(report) })
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(receipts.claim(claim), (answered) =>
          answered === undefined
            ? restore(check(accountId, requestId, urls, receiptOf)).pipe(
                Effect.onError(() => receipts.release(claim)),
                Effect.map((report) => respond(bodyOf(report))),
              )
            : Effect.succeed(respond(answered, { "idempotent-replayed": "true" })),
        ),
      )
    }

    return handlers.handleRaw("checkBatch", ({ headers, request }) =>
      Effect.gen(function* () {
        const account = yield* CurrentAccount
        const requestId = yield* CurrentRequestId
        const { urls } = yield* decodeBatchRequest(request)
        const key = yield* IdempotencyKey.fromHeader(headers["idempotency-key"])
        return yield* key === undefined
          ? checkOnce(account, requestId, urls)
          : checkNamed(key, account, requestId, urls)
      }).pipe(
        Effect.catchTags({
          InsufficientCredits: ({ message }) => new PaymentRequired({ message }),
          KeyReused: ({ message }) => new UnprocessableContent({ message }),
          StillInFlight: ({ message }) => new Conflict({ message }),
          // Ours to mend: the defect is logged, and answered like any other.
          HoldExpired: (expired) => Effect.die(expired),
        }),
      ),
    )
  }),
)

export const quota = HttpApiBuilder.group(Api, "quota", (handlers) =>
  Effect.map(CreditLedger, (ledger) =>
    handlers.handleRaw("availableCredits", () =>
      Effect.gen(function* () {
        const balance = yield* ledger.balance(yield* CurrentAccount)
        const data = { availableCredits: Balance.available(balance) }
        return respond(JSON.stringify(encodeCreditsResponse({ success: true, data })))
      }),
    ),
  ),
)

const decodeBatchRequest = JsonBody.decoder(BatchRequest)

// What does not fit its schema is a defect of ours, so these throw.
const encodeBatchResponse = Schema.encodeSync(BatchResponse)
const encodeCreditsResponse = Schema.encodeSync(CreditsResponse)

const bodyOf = (report: Report) => JSON.stringify(encodeBatchResponse(batchResponse(report)))

const respond = (body: string, headers: Record<string, string> = {}) =>
  HttpServerResponse.text(body, { contentType: "application/json", headers })

const batchResponse = ({ checks, creditsUsed }: Report): typeof BatchResponse.Type => ({
  success: true,
  data: {
    successUrls: checks.flatMap(({ outcome, url }) =>
      outcome._tag === "Checked" ? [{ url, ...outcome.metrics }] : [],
    ),
    failedUrls: checks.flatMap(({ outcome, url }) =>
      outcome._tag === "Failed" ? [{ url, reason: outcome.reason }] : [],
    ),
  },
  quota: { creditsUsed },
})
