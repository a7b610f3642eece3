/** A file of SQLite that stops answering. */
import { join } from "node:path"
import { describe } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Sqlite from "../../src/sql/Sqlite.ts"
import { temporaryFolder } from "../support/Stores.ts"
import { suite } from "../support/undecided.ts"

/** Another connection has the file's write lock. */
const lockedSqlite = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "authority.db")
  const sql = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
  return {
    client: Sqlite.layer(file),
    freeze: Effect.orDie(sql`BEGIN IMMEDIATE`),
    // Without a transaction it fails.
    thaw: Effect.ignore(sql`ROLLBACK`),
  }
})

describe("a locked file of SQLite", () => suite(lockedSqlite, { reads: true }))
