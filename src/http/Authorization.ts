/**
 * Absent, malformed, unknown, revoked or expired: every key that will not do is one and the same
 * 401. An account that asks too often is told so here, before its request costs anything.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { AccountId } from "../Account.ts"
import { ApiKeys } from "../ApiKeys.ts"
import type { Answer } from "./Answer.ts"
import { refusal, Unauthorized } from "./Envelope.ts"
import * as RateLimit from "./RateLimit.ts"

/** Whose the header `x-api-key` is; fails with the answer to who may not go on. */
export type Authorize = (
  header: string | Array<string> | undefined,
) => Effect.Effect<AccountId, Answer>

export const make = (options: {
  readonly rateLimit: RateLimit.Limit | undefined
}): Effect.Effect<Authorize, never, ApiKeys> =>
  Effect.map(ApiKeys, (keys) => {
    const admit = options.rateLimit === undefined ? Effect.succeed : limited(options.rateLimit)
    return (header) =>
      Effect.matchEffect(keys.authenticate(Redacted.make(header?.toString() ?? "")), {
        onFailure: ({ message }) => Effect.fail(refusal(new Unauthorized({ message }))),
        onSuccess: ({ accountId }) => admit(accountId),
      })
  })

const limited = (limit: RateLimit.Limit) => {
  const check = RateLimit.make(limit)
  return (account: AccountId) =>
    Effect.flatMap(check(account), (answer) =>
      answer === undefined ? Effect.succeed(account) : Effect.fail(answer),
    )
}
