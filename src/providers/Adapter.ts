/** What the file of a vendor exports as `adapter`, so that the program can use the vendor. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Settings from "../Settings.ts"
import type { Vendor } from "./Vendor.ts"

type Values = Settings.Settings["Type"]

export interface Adapter {
  readonly fromSettings: (
    settings: Values,
  ) => Effect.Effect<Layer.Layer<Vendor>, ProviderNotConfigured>
  /** What the vendor charges for the figures of one domain, in words. */
  readonly price: string
  /** The optional fields that an answer for a well-known domain has. */
  readonly gives: ReadonlyArray<"spam_score" | "as_of">
  /** True when the vendor's `status` asks the vendor nothing. */
  readonly hasNoFreeCall?: boolean
}

/** A setting that the chosen provider needs is missing. `message` names the setting. */
export class ProviderNotConfigured extends Data.TaggedError("ProviderNotConfigured")<{
  readonly message: string
}> {}

/** Returns the value of a setting that the vendor needs. */
export const required = <Key extends keyof Values>(
  settings: Values,
  key: Key,
): Effect.Effect<NonNullable<Values[Key]>, ProviderNotConfigured> => {
  const value = settings[key]
  return value === undefined
    ? new ProviderNotConfigured({
        message: `${Settings.all[key].about.name} is not set, but the provider needs it; set it, or choose another AUTHORITY_PROVIDER`,
      })
    : Effect.succeed(value)
}
