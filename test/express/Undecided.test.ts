/** A SQLite file whose database stops answering. */
import { join } from "node:path"
import { describe } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Sqlite from "../../src/sql/Sqlite.ts"
import { temporaryFolder } from "../support/Stores.ts"
import { suite } from "../support/undecidedSuite.ts"

/** `freeze` takes the write lock of the file with another connection. */
const lockedSqlite = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "authority.db")
  const sql = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
  return {
    client: Sqlite.layer(file),
    freeze: Effect.orDie(sql`BEGIN IMMEDIATE`),
    // ROLLBACK fails when no transaction is open.
    thaw: Effect.ignore(sql`ROLLBACK`),
  }
})

describe("a locked SQLite file", () => suite(lockedSqlite, { reads: true }))
