/**
 * Finds the account for the API key in the header `x-api-key`. An absent, malformed, unknown,
 * revoked or expired key gets the same 401. A key lookup that does not end by the request's
 * deadline gets 503. An account above its rate limit gets 429 before the body is decoded.
 */
import type { Headers } from "@effect/platform/Headers"
import type { HttpServerResponse } from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { AccountId } from "../Account.ts"
import { ApiKeys, type InvalidApiKey } from "../ApiKeys.ts"
import {
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  unauthorizedMessage,
  unavailableMessage,
} from "../contract/Envelope.ts"
import type { StoreTimeout } from "../StoreTimeout.ts"
import type { Current } from "./CurrentRequest.ts"
import { refuse } from "./errorAnswer.ts"
import { RateLimit } from "./RateLimit.ts"

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const rateLimit = yield* RateLimit

  const admit = (account: AccountId, current: Current) => {
    const refusal = rateLimit.count(account)
    current.account = account
    return refusal === undefined
      ? Effect.succeed(account)
      : refuse(new TooManyRequests({ message: refusal.message }), refusal.headers)
  }

  return (headers: Headers, current: Current): Effect.Effect<AccountId, HttpServerResponse> =>
    current.account === undefined
      ? Effect.matchEffect(keys.authenticate(Redacted.make(headers["x-api-key"] ?? "")), {
          onFailure: (error) => refuse(errorOf(error)),
          onSuccess: ({ accountId }) => admit(accountId, current),
        })
      : Effect.succeed(current.account)
})

const errorOf = (error: InvalidApiKey | StoreTimeout) =>
  error._tag === "InvalidApiKey"
    ? new Unauthorized({ message: unauthorizedMessage })
    : new ServiceUnavailable({ message: unavailableMessage })
