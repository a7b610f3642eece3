/** Runs the service with the provider and the database of the settings. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Actor } from "../AuditLog.ts"
import * as Composition from "../server/Composition.ts"
import { allInDatabase } from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import * as greeting from "./greeting.ts"
import * as Logging from "./Logging.ts"
import * as Otlp from "./Otlp.ts"
import * as Providers from "../server/Providers.ts"
import * as stopLog from "./stopLog.ts"
import * as Verb from "./Verb.ts"

const service = Composition.over({ provider: Providers.layer, stores: allInDatabase })

/** Runs the service until the fiber is interrupted. Fails when the service cannot start. */
export const serve = (options: { readonly json: boolean }) =>
  greeting
    .layer(options)
    .pipe(
      Layer.provide(service),
      Layer.provide(stopLog.layer),
      Layer.launch,
      Effect.provide(Otlp.layer),
      Effect.provide(Logging.layer({ stderr: options.json })),
      Effect.provide(Settings.layer),
      Effect.provideService(Actor, "serve"),
    )

export const verb = Verb.make({
  examples: ["authority serve", "authority serve --json"],
  options: Schema.Struct({}),
  run: (_, json) => serve({ json }),
})
