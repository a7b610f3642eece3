/**
 * Absent, malformed, unknown, revoked or expired: every key that will not do is one and the same
 * 401. An account that asks too often is told so here, before its request costs anything.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AccountId } from "../Account.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { Authorization } from "./Api.ts"
import { Unauthorized } from "./Envelope.ts"
import * as RateLimit from "./RateLimit.ts"

export const layer = (options: {
  readonly rateLimit: RateLimit.Limit | undefined
}): Layer.Layer<Authorization, never, ApiKeys> =>
  Layer.effect(
    Authorization,
    Effect.map(ApiKeys, (keys) => {
      const admit = options.rateLimit === undefined ? anybody : limited(options.rateLimit)
      return {
        apiKey: (key) =>
          Effect.matchEffect(keys.authenticate(key), {
            onFailure: ({ message }) => new Unauthorized({ message }),
            onSuccess: ({ accountId }) => admit(accountId),
          }),
      }
    }),
  )

const anybody = (account: AccountId) => Effect.succeed(account)

const limited = (limit: RateLimit.Limit) => {
  const refusal = RateLimit.make(limit)
  return (account: AccountId) =>
    Effect.flatMap(refusal(account), (response) =>
      // The contract has no headers on errors, so the answer leaves past it.
      response === undefined ? Effect.succeed(account) : Effect.die(response),
    )
}
