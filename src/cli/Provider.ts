/** The provider that the settings name. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Moz from "../providers/Moz.ts"
import * as Sandbox from "../providers/Sandbox.ts"
import * as Wire from "../providers/Wire.ts"
import { Settings } from "../Settings.ts"

/** A provider was chosen and what it needs was not given. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

export const layer = Effect.map(Settings, (settings) => {
  switch (settings.provider) {
    case "sandbox":
      return Sandbox.layer
    case "moz":
      return Layer.unwrapEffect(
        Effect.map(required("AUTHORITY_MOZ_TOKEN", settings.mozToken), (token) =>
          Moz.layer({ url: settings.mozUrl, token }),
        ),
      )
  }
}).pipe(Layer.unwrapEffect, Layer.provide(Wire.client))

/** A setting that only some providers need. */
const required = <A>(name: string, value: A | undefined) =>
  value === undefined
    ? new ProviderNotConfigured({ message: `${name} is not set, and the provider needs it` })
    : Effect.succeed(value)
