/** Reads the heads of the ledger, and looks for an earlier head among today's entries. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Head } from "./Head.ts"
import * as Failure from "../sql/Failure.ts"
import { pageSize, rowsAfter } from "../sql/paging.ts"

/** The heads of all accounts that have entries, in the order of their ids. */
export const heads = Effect.map(SqlClient.SqlClient, (sql) => {
  const after = SqlSchema.findAll({
    Request: Schema.String,
    Result: Head,
    execute: (account) => sql`
      SELECT account_id, entries, head FROM balances
      WHERE entries > 0 AND account_id > ${account} ORDER BY account_id LIMIT ${pageSize}`,
  })
  return rowsAfter("", after, ({ accountId }) => accountId)
}).pipe(Stream.unwrap)

/**
 * Returns why the books do not continue an earlier head; undefined when they do. Only together with
 * a correct hash chain, this proves that all entries up to the head are the same.
 */
export const problemOf = ({ accountId, entries, head }: Head) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    SqlSchema.findOne({
      Request: Schema.Void,
      Result: Schema.Struct({ hash: Schema.String }),
      execute: () =>
        sql`SELECT hash FROM entries WHERE account_id = ${accountId} AND sequence = ${entries}`,
    })(undefined),
  ).pipe(
    Failure.orDie,
    Effect.map(
      Option.match({
        onNone: () => `account ${accountId}: entry ${entries}, an earlier head, is missing`,
        onSome: ({ hash }) =>
          hash === head
            ? undefined
            : `account ${accountId}: entry ${entries} differs from the earlier head, so the entry or one before it was replaced`,
      }),
    ),
  )
