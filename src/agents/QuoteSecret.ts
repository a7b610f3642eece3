/**
 * The port (interface) to the secret that signs quotes. All replicas share it, so that each can
 * verify the quotes of the others.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

export class QuoteSecret extends Context.Tag("authority/QuoteSecret")<
  QuoteSecret,
  {
    /**
     * At least 32 characters, the same in all processes of one service. May die with StoreFailure.
     */
    readonly read: Effect.Effect<Redacted.Redacted>
  }
>() {}
