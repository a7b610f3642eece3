/**
 * Finds the record of the API key in the header `x-api-key`. An absent, malformed, unknown,
 * revoked or expired key gets the same 401. A key without the scope of the request, or of a suspended
 * account, gets 403. A key lookup that does not end by the request's
 * deadline gets 503. An account above its rate limit gets 429 before the body is decoded, and so
 * does one that asks for too many long lists.
 */
import { RouteContext } from "@effect/platform/HttpRouter"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type AccountKey, ApiKeys, type InvalidApiKey } from "../ApiKeys.ts"
import { Authorization } from "../contract/Api.ts"
import {
  Forbidden,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  unauthorizedMessage,
  unavailableMessage,
} from "../contract/Envelope.ts"
import { maxListsPerSecond } from "../contract/Limits.ts"
import { historyPath, usagePath } from "../contract/Wire.ts"
import type { StoreTimeout } from "../ledger/StoreTimeout.ts"
import { type Current, currentRequest } from "./Call.ts"
import * as Permission from "./Permission.ts"
import { counter, RateLimit } from "./RateLimit.ts"
import { refuse } from "./errorAnswer.ts"

export const layer: Layer.Layer<Authorization, never, ApiKeys | RateLimit> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const rateLimit = yield* RateLimit
    const countList = counter(listLimit, yield* Effect.clock)

    const admit = (key: AccountKey, path: string, current: Current) => {
      current.key = key
      const denial = Permission.denialOf(key, Permission.scopeOf(path))
      if (denial !== undefined) return refuse(new Forbidden({ message: denial }))
      const refusal =
        rateLimit.count(key.accountId) ?? (lists.has(path) ? countList(key.accountId) : undefined)
      return refusal === undefined
        ? Effect.succeed(key)
        : refuse(new TooManyRequests({ message: refusal.message }), refusal.headers)
    }

    return Authorization.of({
      apiKey: (key) =>
        Effect.gen(function* () {
          const found = yield* Effect.catchAll(keys.authenticate(key), (error) =>
            refuse(errorOf(error)),
          )
          const current = yield* currentRequest
          const { route } = yield* RouteContext
          return yield* admit(found, route.path, current)
        }),
    })
  }),
)

/** The paths whose answers are long lists, which cost the process more than other answers. */
const lists: ReadonlySet<string> = new Set([historyPath, usagePath])

const listLimit = { requests: maxListsPerSecond, per: Duration.seconds(1) }

const errorOf = (error: InvalidApiKey | StoreTimeout) =>
  error._tag === "InvalidApiKey"
    ? new Unauthorized({ message: unauthorizedMessage })
    : new ServiceUnavailable({ message: unavailableMessage })
