/**
 * The ranking in SQL. Lookups read the active one of two tables, while an import fills the other;
 * the table `ranking` names the active one. PostgreSQL empties a table with TRUNCATE, because
 * deleting its rows takes as long as writing them. Transactions are short, so that other processes
 * can write. All changes run in `withTransaction`: on SQLite, only that retries while another
 * process holds the write lock.
 *
 * On SQLite, inserting unordered names rewrites most pages of the table. So an import first writes
 * its rows to a temporary table, which does not lock the database, and then copies them in the
 * order of names.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Ranked, Rankings } from "./Rankings.ts"
import { StoreFailure } from "../../database/StoreFailure.ts"
import { makeRecorded } from "../../accounts/SqlAuditLog.ts"
import * as Failure from "../../database/Failure.ts"
import { makeRetryAfterDisconnection } from "../../database/retry.ts"

export const layer: Layer.Layer<Rankings, never, SqlClient.SqlClient> = Layer.effect(
  Rankings,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const recorded = makeRecorded(sql)
    const { current, find, imported } = makeQueries(sql)
    const load = sql.onDialectOrElse({ sqlite: () => staged(sql), orElse: () => direct(sql) })

    // Reserves the inactive list for this import, while lookups read the active list. Empties the
    // inactive list, because an import that stopped may have left rows there.
    const begin = (token: number) =>
      Effect.gen(function* () {
        yield* sql`
          INSERT INTO ranking (id, importing) VALUES (1, ${token})
          ON CONFLICT (id) DO UPDATE SET importing = excluded.importing`
        const { list } = yield* current()
        const free: List = list === 0 ? 1 : 0
        yield* empty(sql, free)
        return free
      }).pipe(sql.withTransaction)

    const finish = (list: List, name: string) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* sql`
          UPDATE ranking SET list = ${list}, importing = NULL, name = ${name}, imported_at = ${now}`
        yield* empty(sql, list === 0 ? 1 : 0)
      })

    return Rankings.of({
      ranks: Effect.fn("Rankings.ranks")((names) =>
        find(names).pipe(
          retried,
          Effect.map((rows) => new Map(rows.map(({ name, rank }) => [name, rank]))),
          Failure.orDie,
        ),
      ),

      current: imported().pipe(retried, Failure.orDie),

      replace: Effect.fn("Rankings.replace")(function* (rows, name) {
        const token = yield* Clock.currentTimeMillis
        const list = yield* orDie(begin(token))
        const write: Write = (statement) =>
          sql`SELECT id FROM ranking WHERE importing = ${token}`.pipe(
            Effect.flatMap((mine) => (mine.length === 1 ? statement : anotherImport)),
            sql.withTransaction,
            orDie,
          )
        yield* load(list, rows, write)
        yield* write(recorded("dataset.import", name, {}, finish(list, name)))
      }),
    })
  }),
)

// The index in `tables` of the table that holds one ranking list.
type List = 0 | 1
const tables = ["ranks_0", "ranks_1"] as const

const empty = (sql: SqlClient.SqlClient, list: List) =>
  sql.onDialectOrElse({
    pg: () => sql`TRUNCATE ${sql.literal(tables[list])}`,
    orElse: () => sql`DELETE FROM ${sql.literal(tables[list])}`,
  })

const anotherImport = Effect.fail(
  new StoreFailure({
    message:
      "another 'authority dataset import' began, so this import stopped and its rows are not used; wait until the other import has ended",
  }),
)

const makeQueries = (sql: SqlClient.SqlClient) => {
  const rowsIn = (list: List, names: ReadonlyArray<string>) => sql`
    SELECT name, rank FROM ${sql.literal(tables[list])}
    WHERE (SELECT list FROM ranking) = ${list} AND ${sql.in("name", names)}`
  return {
    find: SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Row,
      execute: (names) => sql`${rowsIn(0, names)} UNION ALL ${rowsIn(1, names)}`,
    }),

    current: SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ list: Schema.NullOr(Schema.Literal(0, 1)) }),
      execute: () => sql`SELECT list FROM ranking`,
    }),

    imported: SqlSchema.findOne({
      Request: Schema.Void,
      Result: Imported,
      execute: () => sql`SELECT name, imported_at AS at FROM ranking WHERE list IS NOT NULL`,
    }),
  }
}

/** Runs one statement of an import in its own transaction. Dies if a newer import has begun. */
type Write = (statement: Effect.Effect<unknown, unknown>) => Effect.Effect<void>

type Load = <E, R>(
  list: List,
  rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
  write: Write,
) => Effect.Effect<void, E, R>

const direct =
  (sql: SqlClient.SqlClient): Load =>
  (list, rows, write) =>
    Stream.runForEach(rows, (some) =>
      write(sql`
        INSERT INTO ${sql.literal(tables[list])} AS ranks (name, rank)
        SELECT key, min(value::bigint) FROM json_each_text(${jsonOf(some)}::json) GROUP BY key
        ON CONFLICT (name) DO UPDATE SET rank = LEAST(ranks.rank, excluded.rank)`),
    )

const staged =
  (sql: SqlClient.SqlClient): Load =>
  (list, rows, write) => {
    const copyAfter = (name: string) => sql`
      INSERT INTO ${sql.literal(tables[list])} (name, rank)
      SELECT name, min(rank) FROM staged_ranks WHERE name > ${name}
      GROUP BY name ORDER BY name LIMIT ${pieceSize}`
    const lastCopied = SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ name: Schema.NullOr(Schema.String) }),
      execute: () => sql`SELECT max(name) AS name FROM ${sql.literal(tables[list])}`,
    })
    const copy = (after: string): Effect.Effect<void> =>
      Effect.gen(function* () {
        yield* Effect.zipLeft(write(copyAfter(after)), pause)
        const { name } = yield* orDie(lastCopied())
        if (name !== null && name !== after) yield* copy(name)
      })

    const stage = (some: ReadonlyArray<Ranked>) => sql`
      INSERT INTO staged_ranks (name, rank) SELECT key, value FROM json_each(${jsonOf(some)})`

    return Effect.gen(function* () {
      // Keep the staged rows in a file, because they may need more space than there is memory.
      yield* orDie(sql`PRAGMA temp_store = FILE`)
      // The cache of the temporary database, here 2,000 KiB (a negative number is in KiB). It takes
      // memory in addition to the cache of the main database.
      yield* orDie(sql`PRAGMA temp.cache_size = -2000`)
      yield* orDie(sql`CREATE TEMPORARY TABLE staged_ranks (name TEXT, rank BIGINT)`)
      yield* Stream.runForEach(rows, (some) => orDie(stage(some)))
      yield* orDie(sql`CREATE INDEX temp.staged_by_name ON staged_ranks (name, rank)`)
      yield* copy("")
    }).pipe(Effect.ensuring(Effect.ignore(sql`DROP TABLE IF EXISTS temp.staged_ranks`)))
  }

const orDie = <A, R>(effect: Effect.Effect<A, unknown, R>): Effect.Effect<A, never, R> =>
  Effect.catchAll(effect, (error) => Effect.die(Failure.describe(error)))

// Builds the text of a JSON object without `JSON.stringify`: a name may occur twice, and a
// JavaScript object would keep only one of its ranks. Host names need no escaping.
const jsonOf = (rows: ReadonlyArray<Ranked>): string =>
  `{${rows.map(({ name, rank }) => `"${name}":${rank}`).join(",")}}`

const pieceSize = 10_000

// The pause lets other processes write between statements: SQLite allows only one writer.
const pause = Effect.sleep("5 millis")

const Imported = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  at: Schema.NullOr(Schema.Int),
})

const Row = Schema.Struct({
  name: Schema.String,
  rank: Schema.Int,
})
