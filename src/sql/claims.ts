import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import { randomUUID } from "node:crypto"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { rowsOf } from "./bulkRows.ts"
import { databaseTime } from "./databaseTime.ts"
import { pageKey } from "./pageKey.ts"

/**
 * Returns the SQL of the present time in epoch milliseconds; undefined for a database without
 * claims. By default that is SQLite, because only PostgreSQL serves several machines.
 */
export class ClaimTime extends Context.Reference<ClaimTime>()("authority/sql/ClaimTime", {
  defaultValue:
    () =>
    (sql: SqlClient.SqlClient): (() => string) | undefined =>
      sql.onDialectOrElse({ pg: () => () => databaseTime(sql), orElse: () => undefined }),
}) {}

interface Page {
  readonly provider: string
  readonly page: string
}

/**
 * Makes the statements for the claims of a new owner; undefined for a database without claims. They
 * lock rows in the order of the pages, which prevents deadlocks.
 */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const timeOf = (yield* ClaimTime)(sql)
  if (timeOf === undefined) return undefined
  const owner = randomUUID()
  const now = () => sql.literal(timeOf())
  const inOrder = sql.literal(
    sql.onDialectOrElse({
      pg: () => `ORDER BY provider COLLATE "C", page COLLATE "C" FOR UPDATE`,
      orElse: () => "",
    }),
  )

  const insert = SqlSchema.findAll({
    Request: Schema.Struct({
      provider: Schema.String,
      keys: Schema.Array(Schema.String),
      leaseMs: Schema.Number,
    }),
    Result: Schema.Struct({ page: Schema.String }),
    // SQLite needs the WHERE before an ON CONFLICT. The owner may take its own claim again, because
    // the answer to its first attempt may be lost.
    execute: ({ keys, leaseMs, provider }) => sql`
      INSERT INTO claims (provider, page, owner, expires_at)
      SELECT ${provider}, value->>0, ${owner}, ${now()} + CAST(${leaseMs} AS BIGINT)
      FROM ${rowsOf(
        sql,
        keys.toSorted().map((key) => [key]),
      )} WHERE 1 = 1
      ON CONFLICT (provider, page) DO UPDATE
      SET owner = excluded.owner, expires_at = excluded.expires_at
      WHERE claims.expires_at <= ${now()} OR claims.owner = excluded.owner
      RETURNING page`,
  })

  return {
    /** Returns the pages that the owner has claimed now. */
    take: (provider: string, pages: NonEmptyReadonlyArray<string>, leaseMs: number) => {
      const pageOf = new Map(pages.map((page) => [pageKey(page), page]))
      return Effect.map(insert({ provider, keys: [...pageOf.keys()], leaseMs }), (rows) =>
        rows.flatMap(({ page }) => pageOf.get(page) ?? []),
      )
    },

    /** Ends the owner's claims of pages. */
    end: (pages: ReadonlyArray<Page>) => sql`
      DELETE FROM claims WHERE (provider, page) IN (
        SELECT provider, page FROM claims
        WHERE owner = ${owner} AND (provider, page) IN (
          SELECT value->>0, value->>1
          FROM ${rowsOf(
            sql,
            pages.map(({ page, provider }) => [provider, pageKey(page)]),
          )}
        ) ${inOrder}
      )`,

    /** Deletes the claims of dead processes. */
    sweep: Effect.suspend(() => sql`DELETE FROM claims WHERE expires_at <= ${now()}`),
  }
})
