/** The contract, kept: from a request to the use case and back. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CurrentAccount } from "../Account.ts"
import { AuthorityCheck, type Report } from "../AuthorityCheck.ts"
import * as Balance from "../Balance.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { Api, BatchRequest, BatchResponse, CreditsResponse } from "./Api.ts"
import { CurrentRequestId } from "./CurrentRequest.ts"
import { internalErrorMessage, InternalServerError, PaymentRequired } from "./Envelope.ts"
import * as JsonBody from "./JsonBody.ts"

export const metrics = HttpApiBuilder.group(Api, "metrics", (handlers) =>
  Effect.map(AuthorityCheck, ({ check }) =>
    handlers.handleRaw("checkBatch", ({ request }) =>
      Effect.gen(function* () {
        const account = yield* CurrentAccount
        const { urls } = yield* decodeBatchRequest(request)
        const report = yield* check(account, yield* CurrentRequestId, urls).pipe(
          Effect.catchTags({
            InsufficientCredits: ({ message }) => new PaymentRequired({ message }),
            HoldExpired: (expired) =>
              Effect.zipRight(
                Effect.logError(expired.message),
                new InternalServerError({ message: internalErrorMessage }),
              ),
          }),
        )
        return respond(encodeBatchResponse(batchResponse(report)))
      }),
    ),
  ),
)

export const quota = HttpApiBuilder.group(Api, "quota", (handlers) =>
  Effect.map(CreditLedger, (ledger) =>
    handlers.handleRaw("availableCredits", () =>
      Effect.gen(function* () {
        const balance = yield* ledger.balance(yield* CurrentAccount)
        const data = { availableCredits: Balance.available(balance) }
        return respond(encodeCreditsResponse({ success: true, data }))
      }),
    ),
  ),
)

const decodeBatchRequest = JsonBody.decoder(BatchRequest)

// What does not fit its schema is a defect of ours, so these throw.
const encodeBatchResponse = Schema.encodeSync(BatchResponse)
const encodeCreditsResponse = Schema.encodeSync(CreditsResponse)

const respond = (body: object) => HttpServerResponse.unsafeJson(body)

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
