/** Updates the schema of the database, for services that may not do so when they start. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stores from "../server/Stores.ts"
import * as Settings from "../Settings.ts"
import { newest } from "../sql/Migrations.ts"
import * as Logging from "./Logging.ts"
import { although, print } from "./Output.ts"
import * as Verb from "./Verb.ts"

export const verb = Verb.make({
  examples: ["authority migrate"],
  options: Schema.Struct({ json: Verb.json }),
  run: ({ json }) =>
    Effect.flatMap(Stores.migrate, (from) =>
      print(
        json,
        { from, to: newest },
        from === newest
          ? `The database already has schema ${newest}.`
          : `Migrated the database from schema ${from} to schema ${newest}.`,
      ).pipe(although("the database is migrated")),
    ).pipe(Effect.provide(Logging.layer({ stderr: true })), Effect.provide(Settings.layer)),
})
