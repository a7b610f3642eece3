/** Verifies the stored answers: each can be read, and fits the charge of its request. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { maxProblems } from "./Audit.ts"
import * as StoredAnswer from "../StoredAnswer.ts"
import { pageSize, rowsAfter } from "../sql/paging.ts"

const Row = Schema.Struct({
  accountId: Schema.String,
  key: Schema.String,
  requestId: Schema.String,
  body: Schema.Unknown,
  /** The charge of the request; null without a charge. */
  amount: Schema.Unknown,
  urls: Schema.Unknown,
})
type Row = typeof Row.Type

/** Returns the first 100 problems. Reads the stored answers page by page. */
export const problems = Effect.flatMap(SqlClient.SqlClient, (sql) => {
  const answersAfter = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, key: Schema.String }),
    Result: Row,
    execute: ({ accountId, key }) => sql`
      SELECT r.account_id, r.key, r.request_id, r.body, e.amount, e.urls
      FROM receipts r LEFT JOIN entries e
        ON e.request_id = r.request_id AND e.account_id = r.account_id
      WHERE r.body IS NOT NULL AND (r.account_id, r.key) > (${accountId}, ${key})
      ORDER BY r.account_id, r.key LIMIT ${pageSize}`,
  })
  return rowsAfter({ accountId: "", key: "" }, answersAfter, (last) => last).pipe(
    Stream.filterMap((row) => Option.fromNullable(problemOf(row))),
    Stream.take(maxProblems),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray),
  )
})

const problemOf = ({ accountId, amount, body, key, requestId, urls }: Row): string | undefined => {
  const name = `account ${accountId}: the answer that is stored under the idempotency key ${JSON.stringify(key)}`
  return Either.match(
    Either.try(() => StoredAnswer.decode(String(body))),
    {
      onLeft: () => `${name} cannot be read`,
      onRight: ({ creditsUsed, outcomes }) => {
        const checked = outcomes.filter(({ _tag }) => _tag === "Checked").length
        const fits =
          amount === null ? creditsUsed === 0 : amount === creditsUsed && urls === checked
        return fits
          ? undefined
          : `${name} says ${creditsUsed} credits for ${checked} URLs, but the statement has ${amount === null ? "no charge" : `${String(amount)} credits for ${String(urls)} URLs`} for request ${requestId}`
      },
    },
  )
}
