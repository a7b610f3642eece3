/** Gives commands the settings and the database's stores, and logs to stderr. */
import * as Layer from "effect/Layer"
import * as Stores from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import * as Logging from "./Logging.ts"

export const settings = Layer.provideMerge(Logging.layer({ stderr: true }), Settings.layer)

export type Services = Layer.Layer.Success<typeof existing>

/** Fails with NoDatabase when the database does not exist. */
export const existing = Layer.provide(Stores.forCommands, settings)

/** Creates the database when it does not exist. */
export const existingOrNew = Layer.provide(Stores.forCreatingCommands, settings)
