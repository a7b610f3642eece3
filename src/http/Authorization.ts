/**
 * Admits a request by its API key. An absent, malformed, unknown, revoked or expired key gets the
 * same 401. The limits, which answer 429, are checked after the scope and the account's state.
 */
import { RouteContext } from "@effect/platform/HttpRouter"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { type AccountKey, ApiKeys } from "../accounts/ApiKeys.ts"
import { Authorization } from "../contract/Api.ts"
import { Forbidden, Unauthorized, unauthorizedMessage } from "../contract/Envelope.ts"
import { maxListsPerSecond } from "../contract/Limits.ts"
import { batchPath, historyPath, statementPath, usagePath } from "../contract/Wire.ts"
import type { Scope } from "../accounts/Scope.ts"
import { type CurrentRequest, currentRequest } from "./CurrentRequest.ts"
import { refuse, unavailable } from "./errorAnswer.ts"
import { counter, RateLimit } from "./RateLimit.ts"

/** Makes the effect that finds the key of a request or fails with the error to answer. */
export const authentication = Effect.map(
  ApiKeys,
  (keys) => (secret: Redacted.Redacted<string>, current: CurrentRequest["Type"]) =>
    keys.authenticate(secret).pipe(
      Effect.tap((key) => Effect.sync(() => void (current.key = key))),
      Effect.mapError(({ _tag }) =>
        _tag === "InvalidApiKey"
          ? new Unauthorized({ message: unauthorizedMessage })
          : unavailable(),
      ),
    ),
)

/** Makes the effect that admits a request or fails with the error to answer. */
export const admission = Effect.gen(function* () {
  const authenticate = yield* authentication
  const { count, enter } = yield* RateLimit
  const countList = counter(listLimit, yield* Effect.clock)

  return (secret: Redacted.Redacted<string>, path: string, current: CurrentRequest["Type"]) =>
    Effect.gen(function* () {
      const key = yield* authenticate(secret, current)
      const denial = denialOf(key, path === batchPath ? "check" : "read")
      if (denial !== undefined) return yield* new Forbidden({ message: denial })
      yield* enter(key.id)
      const refusal =
        count(key.accountId) ?? (lists.has(path) ? countList(key.accountId) : undefined)
      return refusal === undefined ? key : yield* refusal
    })
})

export const layer: Layer.Layer<Authorization, never, ApiKeys | RateLimit> = Layer.effect(
  Authorization,
  Effect.map(admission, (admit) =>
    Authorization.of({
      apiKey: (secret) =>
        Effect.gen(function* () {
          const { path } = (yield* RouteContext).route
          return yield* Effect.catchAll(admit(secret, path, yield* currentRequest), refuse)
        }),
    }),
  ),
)

/** The paths whose answers are long lists, which cost the process more than other answers. */
const lists: ReadonlySet<string> = new Set([historyPath, statementPath, usagePath])

const listLimit = { requests: maxListsPerSecond, per: Duration.seconds(1) }

/** Returns why a key may not make a request that needs `scope`; undefined if it may. */
const denialOf = ({ accountSuspendedAt, scopes }: AccountKey, scope: Scope) => {
  if (accountSuspendedAt !== null) return "The account is suspended."
  return scopes.includes(scope)
    ? undefined
    : `The API key does not have the scope ${scope}, which this request needs.`
}
