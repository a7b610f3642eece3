/** Absent, malformed, unknown, revoked or expired: every key that will not do is one and the same 401. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ApiKeys } from "../ApiKeys.ts"
import { Authorization } from "./Api.ts"
import { Unauthorized } from "./Envelope.ts"

export const layer: Layer.Layer<Authorization, never, ApiKeys> = Layer.effect(
  Authorization,
  Effect.map(ApiKeys, (keys) => ({
    apiKey: (key) =>
      Effect.mapBoth(keys.authenticate(key), {
        onFailure: ({ message }) => new Unauthorized({ message }),
        onSuccess: ({ accountId }) => accountId,
      }),
  })),
)
