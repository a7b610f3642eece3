/** Updates the schema of the database, for services that may not do so when they start. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stores from "../../server/Stores.ts"
import * as Settings from "../../Settings.ts"
import { newest } from "../../database/migrations/Migrations.ts"
import * as Logging from "../Logging.ts"
import * as Verb from "../Verb.ts"

export const verb = Verb.act({
  examples: ["authority migrate"],
  options: Schema.Struct({}),
  act: () =>
    Stores.migrate.pipe(
      Effect.map((from) => ({ from, to: newest })),
      Effect.provide(Logging.layer({ stderr: true })),
      Effect.provide(Settings.layer),
    ),
  text: ({ from }) =>
    from === newest
      ? `The database already has schema ${newest}.`
      : `Migrated the database from schema ${from} to schema ${newest}.`,
  ifLost: () => ", although the database is migrated",
})
