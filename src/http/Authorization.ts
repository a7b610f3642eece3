/**
 * Finds the record of the API key in the header `x-api-key`. An absent, malformed, unknown,
 * revoked or expired key gets the same 401. A key lookup that does not end by the request's
 * deadline gets 503. An account above its rate limit gets 429 before the body is decoded.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type AccountKey, ApiKeys, type InvalidApiKey } from "../ApiKeys.ts"
import { Authorization } from "../contract/Api.ts"
import {
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  unauthorizedMessage,
  unavailableMessage,
} from "../contract/Envelope.ts"
import type { StoreTimeout } from "../StoreTimeout.ts"
import { type Current, CurrentRequest } from "./Call.ts"
import { RateLimit } from "./RateLimit.ts"
import { refuse } from "./errorAnswer.ts"

export const layer: Layer.Layer<Authorization, never, ApiKeys | RateLimit> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const rateLimit = yield* RateLimit

    const admit = (key: AccountKey, current: Current) => {
      const refusal = rateLimit.count(key.accountId)
      current.key = key
      return refusal === undefined
        ? Effect.succeed(key)
        : refuse(new TooManyRequests({ message: refusal.message }), refusal.headers)
    }

    return Authorization.of({
      apiKey: (key) =>
        Effect.flatMap(CurrentRequest, (current) =>
          current.key === undefined
            ? Effect.matchEffect(keys.authenticate(key), {
                onFailure: (error) => refuse(errorOf(error)),
                onSuccess: (found) => admit(found, current),
              })
            : Effect.succeed(current.key),
        ),
    })
  }),
)

const errorOf = (error: InvalidApiKey | StoreTimeout) =>
  error._tag === "InvalidApiKey"
    ? new Unauthorized({ message: unauthorizedMessage })
    : new ServiceUnavailable({ message: unavailableMessage })
