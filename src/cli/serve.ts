/** Runs the service with the provider and the database of the settings. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Service from "../server/Service.ts"
import * as Stores from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import * as greeting from "./greeting.ts"
import * as Heap from "./Heap.ts"
import * as Logging from "./Logging.ts"
import * as Otlp from "./Otlp.ts"
import * as Providers from "./Providers.ts"
import * as stopLog from "./stopLog.ts"

/** Answers requests until it is interrupted. Fails when it cannot start. */
export const serve = (options: { readonly json: boolean }) =>
  greeting.layer(options).pipe(
    Layer.provide(Service.over({ provider: Providers.layer, stores: Stores.ofSettings })),
    Layer.provide(Heap.layer),
    Layer.provide(stopLog.layer),
    Layer.launch,
    Effect.provide(Otlp.layer),
    Effect.provide(Logging.layer({ stderr: options.json })),
    Effect.provide(Settings.layer),
  )
