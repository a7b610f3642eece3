/** The provider that the settings name. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Sandbox from "../providers/Sandbox.ts"
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
      return Sandbox.layer
  }
}).pipe(Layer.unwrapEffect)
