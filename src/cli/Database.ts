/** The stores of the database for verbs, with a log on stderr. */
import * as Layer from "effect/Layer"
import * as Stores from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import * as Logging from "./Logging.ts"

const withLog = <A, E>(stores: Layer.Layer<A, E, Settings.Settings>) =>
  stores.pipe(Layer.provide(Logging.layer({ stderr: true })), Layer.provide(Settings.layer))

export type Services = Layer.Layer.Success<typeof existing>

/** Fails with NoDatabase when the database does not exist. */
export const existing = withLog(Stores.forVerbs)

/** Creates the database when it does not exist. */
export const existingOrNew = withLog(Stores.forCreatingVerbs)
