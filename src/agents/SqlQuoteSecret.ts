/** Reads the secret that signs quotes from the database, where a migration creates it. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Failure from "../database/Failure.ts"
import { makeRetryAfterDisconnection } from "../database/retry.ts"
import { QuoteSecret } from "./QuoteSecret.ts"

export const layer: Layer.Layer<QuoteSecret, never, SqlClient.SqlClient> = Layer.effect(
  QuoteSecret,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const find = SqlSchema.single({
      Request: Schema.Void,
      Result: Row,
      execute: () => sql`SELECT value FROM secrets WHERE name = 'quotes'`,
    })
    return QuoteSecret.of({
      read: Effect.map(find(undefined), ({ value }) => value).pipe(
        retried,
        Effect.catchTag("NoSuchElementException", Effect.die),
        Failure.orDie,
      ),
    })
  }),
)

const Row = Schema.Struct({ value: Schema.Redacted(Schema.String) })
