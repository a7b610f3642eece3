/**
 * The list in SQL. Rows are written under a new generation, and one row says which generation
 * counts. Every transaction is short, for others want to write to the database meanwhile, and each
 * statement is one, for only a transaction waits its turn on SQLite.
 *
 * SQLite would rewrite most of the table for every batch of names in no order, so there the rows
 * are first staged in a temporary table, which locks nobody out, and copied in the order of names.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Ranked, Rankings } from "../Rankings.ts"
import { StoreFailure } from "../StoreFailure.ts"
import * as Failure from "./Failure.ts"

export const layer: Layer.Layer<Rankings, never, SqlClient.SqlClient> = Layer.effect(
  Rankings,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const load = sql.onDialectOrElse({ sqlite: () => staged(sql), orElse: () => direct(sql) })

    const find = SqlSchema.findAll({
      Request: Schema.Array(Schema.String),
      Result: Row,
      execute: (names) => sql`
        SELECT name, rank FROM ranks
        WHERE generation = (SELECT generation FROM ranking) AND name IN ${sql.in(names)}`,
    })

    const begin = (generation: number) =>
      sql`
      INSERT INTO ranking (id, importing) VALUES (1, ${generation})
      ON CONFLICT (id) DO UPDATE SET importing = excluded.importing`.pipe(sql.withTransaction)

    const finish = (generation: number) =>
      sql`
        UPDATE ranking SET generation = importing, importing = NULL
        WHERE importing = ${generation} RETURNING id`.pipe(
        sql.withTransaction,
        Effect.flatMap((updated) =>
          updated.length === 1
            ? Effect.void
            : new StoreFailure({ message: "another import has begun meanwhile: let it finish" }),
        ),
      )

    /** What a former list, or an import that was stopped, has left. */
    const clear = (importing: number) =>
      sql`
        DELETE FROM ranks WHERE (generation, name) IN (
          SELECT generation, name FROM ranks
          WHERE generation <> ${importing}
            AND generation <> COALESCE((SELECT generation FROM ranking), 0)
          LIMIT ${pieceSize}
        ) RETURNING rank`.pipe(
        sql.withTransaction,
        Effect.zipLeft(pause),
        Effect.repeat({ while: (deleted) => deleted.length === pieceSize }),
        Effect.asVoid,
      )

    return Rankings.of({
      ranks: Effect.fn("Rankings.ranks")((names) =>
        find(names).pipe(
          Effect.map((rows) => new Map(rows.map(({ name, rank }) => [name, rank]))),
          Effect.mapError(Failure.describe),
        ),
      ),

      replace: Effect.fn("Rankings.replace")(function* (rows) {
        const generation = yield* Clock.currentTimeMillis
        yield* begin(generation).pipe(
          Effect.zipRight(clear(generation)),
          Effect.mapError(Failure.describe),
        )
        yield* load(generation, rows)
        yield* finish(generation).pipe(
          Effect.catchTag("SqlError", (error) => Failure.describe(error)),
        )
        yield* Effect.mapError(clear(generation), Failure.describe)
      }),
    })
  }),
)

type Load = <E, R>(
  generation: number,
  rows: Stream.Stream<ReadonlyArray<Ranked>, E, R>,
) => Effect.Effect<void, E | StoreFailure, R>

const direct =
  (sql: SqlClient.SqlClient): Load =>
  (generation, rows) =>
    Stream.runForEach(rows, (some) =>
      described(sql`
        INSERT INTO ranks (generation, name, rank)
        SELECT ${generation}, key, min(value::bigint)
        FROM json_each_text(${jsonOf(some)}::json) GROUP BY key
        ON CONFLICT (generation, name) DO UPDATE SET rank = LEAST(ranks.rank, excluded.rank)`),
    )

const staged =
  (sql: SqlClient.SqlClient): Load =>
  (generation, rows) => {
    const copyAfter = (name: string) => sql`
      INSERT INTO ranks (generation, name, rank)
      SELECT ${generation}, name, min(rank) FROM staged_ranks WHERE name > ${name}
      GROUP BY name ORDER BY name LIMIT ${pieceSize}`
    const lastCopied = SqlSchema.single({
      Request: Schema.Void,
      Result: Schema.Struct({ name: Schema.NullOr(Schema.String) }),
      execute: () => sql`SELECT max(name) AS name FROM ranks WHERE generation = ${generation}`,
    })
    const copy = (after: string): Effect.Effect<void, unknown> =>
      Effect.gen(function* () {
        yield* Effect.zipLeft(sql.withTransaction(copyAfter(after)), pause)
        const { name } = yield* lastCopied()
        if (name !== null && name !== after) yield* copy(name)
      })

    const stage = (some: ReadonlyArray<Ranked>) => sql`
      INSERT INTO staged_ranks (name, rank) SELECT key, value FROM json_each(${jsonOf(some)})`

    return Effect.gen(function* () {
      // Its cache is memory on top of that of the database itself.
      yield* described(sql`PRAGMA temp.cache_size = -2000`)
      yield* described(sql`CREATE TEMPORARY TABLE staged_ranks (name TEXT, rank BIGINT)`)
      yield* Stream.runForEach(rows, (some) => described(stage(some)))
      yield* described(sql`CREATE INDEX temp.staged_by_name ON staged_ranks (name, rank)`)
      yield* described(copy(""))
    }).pipe(Effect.ensuring(Effect.ignore(sql`DROP TABLE IF EXISTS temp.staged_ranks`)))
  }

const described = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  Effect.mapError(effect, Failure.describe)

/** Names hold nothing that JSON would escape; a name that comes twice stands there twice. */
const jsonOf = (rows: ReadonlyArray<Ranked>): string =>
  `{${rows.map(({ name, rank }) => `"${name}":${rank}`).join(",")}}`

/** How many rows one statement copies or deletes. */
const pieceSize = 10_000

/** Between two statements somebody else gets at SQLite, where one writes at a time. */
const pause = Effect.sleep("5 millis")

const Row = Schema.Struct({
  name: Schema.String,
  rank: Schema.Int,
})
