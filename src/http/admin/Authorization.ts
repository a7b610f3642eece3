/**
 * Checks the token of the administration. A wrong token gets 401, and 429 after ten wrong tokens
 * from one address in a minute. A right token always passes.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Administrator, wrongTokenMessage, wrongTokensMessage } from "../../contract/AdminApi.ts"
import { TooManyRequests, Unauthorized } from "../../contract/Envelope.ts"
import { refuse } from "../errorAnswer.ts"
import * as RateLimit from "../RateLimit.ts"

const wrongTokens = { requests: 10, per: Duration.minutes(1) }

/** The address that a request came from: the proxy's address behind a proxy. */
export const addressOf = ({ remoteAddress }: HttpServerRequest) =>
  Option.getOrElse(remoteAddress, () => "unknown")

const digestOf = (token: Redacted.Redacted<string>) =>
  createHash("sha256").update(Redacted.value(token)).digest()

export const layer = (token: Redacted.Redacted<string>): Layer.Layer<Administrator> =>
  Layer.effect(
    Administrator,
    Effect.map(Effect.clock, (clock) => {
      const expected = digestOf(token)
      const count = RateLimit.counter<string>(wrongTokens, clock)
      const refusal = Effect.gen(function* () {
        const tooMany = count(addressOf(yield* HttpServerRequest))
        if (tooMany === undefined)
          return yield* refuse(new Unauthorized({ message: wrongTokenMessage }))
        return yield* refuse(new TooManyRequests({ message: wrongTokensMessage }), tooMany.headers)
      })
      return Administrator.of({
        token: (given) => (timingSafeEqual(digestOf(given), expected) ? Effect.void : refusal),
      })
    }),
  )
