/** Reads long tables, and deletes rows from them, page by page. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ParseError } from "effect/ParseResult"
import * as Stream from "effect/Stream"
import * as Failure from "../Failure.ts"

/**
 * The maximum number of rows that one statement reads or deletes: few, so that others do not wait.
 */
export const pageSize = 1000

/** Streams rows page by page. `read` reads the page after a place. Dies with StoreFailure. */
export const rowsAfter = <Place, Row>(
  start: Place,
  read: (after: Place) => Effect.Effect<ReadonlyArray<Row>, SqlError | ParseError>,
  placeOf: (last: Row) => Place,
): Stream.Stream<Row> =>
  Stream.paginateChunkEffect(start, (after) =>
    Effect.map(Failure.orDie(read(after)), (page) => [
      Chunk.unsafeFromArray(page),
      page.length < pageSize ? Option.none() : Option.map(Arr.last(page), placeOf),
    ]),
  )

/** Deletes rows until none is left, with one transaction for each `deleteSome`. */
export const sweep = (
  sql: SqlClient.SqlClient,
  deleteSome: Effect.Effect<ReadonlyArray<unknown>, SqlError>,
): Effect.Effect<void> =>
  Effect.repeat(sql.withTransaction(deleteSome), {
    while: (deleted) => deleted.length === pageSize,
  }).pipe(Effect.asVoid, Failure.orDie)
