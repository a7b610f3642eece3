/** The port (interface) to the secret that signs quotes, so that a replica knows those of others. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"

export class QuoteSecret extends Context.Tag("authority/QuoteSecret")<
  QuoteSecret,
  {
    /** At least 32 characters, the same for all processes of one service. May die with StoreFailure. */
    readonly read: Effect.Effect<Redacted.Redacted>
  }
>() {}
