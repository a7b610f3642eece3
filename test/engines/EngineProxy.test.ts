/** The proxy that imitates a distributed engine, and the client's retries behind the proxy. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as EngineProxy from "../../scripts/support/EngineProxy.ts"
import * as Failure from "../../src/sql/Failure.ts"
import * as Postgres from "../../src/sql/Postgres.ts"
import { temporaryDatabase } from "../support/Stores.ts"

const behind = (options: Omit<EngineProxy.Options, "server">) =>
  Effect.gen(function* () {
    const server = Redacted.value(yield* temporaryDatabase)
    const proxy = yield* Effect.acquireRelease(
      Effect.promise(() => EngineProxy.start({ server, ...options })),
      ({ stop }) => Effect.promise(stop),
    )
    const client = Effect.map(Layer.build(Postgres.layer(Redacted.make(proxy.url))), (context) =>
      Context.get(context, SqlClient.SqlClient),
    )
    return { proxy, client }
  })

describe("a proxy that imitates a distributed engine", () => {
  it.scopedLive("what such engines refuse fails, and the connection can be used again", () =>
    Effect.gen(function* () {
      const { client, proxy } = yield* behind({ conflicts: 0 })
      const sql = yield* client
      yield* sql`CREATE TABLE n (n INTEGER NOT NULL)`
      const statements = [
        "LOCK TABLE n IN ACCESS EXCLUSIVE MODE",
        "LISTEN news",
        "SELECT pg_try_advisory_lock(1)",
        "CREATE TEMPORARY TABLE t (n INTEGER)",
      ]
      for (const statement of statements) {
        const error = yield* Effect.flip(sql.withTransaction(sql.unsafe(statement)))
        assert.strictEqual(Failure.codeOf(error), "0A000", statement)
        yield* sql`INSERT INTO n VALUES (${1})`
      }
      assert.deepStrictEqual([...new Set(proxy.refused())], statements)
      assert.lengthOf(yield* sql`SELECT n FROM n`, statements.length)
    }),
  )

  it.scopedLive(
    "each transaction and each statement outside a transaction runs once, although three in ten statements and COMMITs are answered by 40001",
    () =>
      Effect.gen(function* () {
        const { client, proxy } = yield* behind({ conflicts: 0.3 })
        const sql = yield* client
        yield* sql`CREATE TABLE n (n INTEGER NOT NULL)`
        for (let n = 0; n < 10; n++) {
          yield* sql`INSERT INTO n VALUES (${n})`
          yield* sql.withTransaction(sql`INSERT INTO n VALUES (${100 + n})`)
          yield* sql.withTransaction(sql.withTransaction(sql`INSERT INTO n VALUES (${200 + n})`))
        }
        assert.lengthOf(yield* sql`SELECT DISTINCT n FROM n`, 30)
        assert.lengthOf(yield* sql`SELECT n FROM n`, 30)
        assert.isAbove(proxy.conflicts(), 10)
      }),
  )
})
