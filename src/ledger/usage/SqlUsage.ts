/** The table `usage`, whose sums each commit updates, and the SQL of the usage reports. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AccountId } from "../../accounts/Account.ts"
import { ApiKeyId } from "../../accounts/ApiKey.ts"
import * as BulkRows from "../../database/rows/bulkRows.ts"
import { letOthersRun } from "../letOthersRun.ts"
import * as Usage from "./Usage.ts"

const summed = ["checks", "credits", "known", "invalid_url", "provider_error", "server_error"]

export const table: BulkRows.Table<Usage.DailyUsage> = {
  name: "usage",
  texts: ["account_id", "api_key_id"],
  numbers: ["day", ...summed],
  key: ["account_id", "day", "api_key_id"],
  sums: summed,
  rowOf: ({ apiKeyId, failed, ...row }) => ({
    ...row,
    apiKeyId: apiKeyId ?? "",
    invalidUrl: failed.INVALID_URL,
    providerError: failed.PROVIDER_ERROR,
    serverError: failed.SERVER_ERROR,
  }),
}

const decodeRows = BulkRows.decoder(
  Schema.Struct({
    accountId: Schema.NullOr(AccountId),
    apiKeyId: Schema.NullOr(ApiKeyId),
    day: Schema.NullOr(Schema.Int),
    checks: Schema.Int,
    credits: Schema.Int,
    known: Schema.Int,
    invalid_url: Schema.Int,
    provider_error: Schema.Int,
    server_error: Schema.Int,
    accountName: Schema.NullOr(Schema.String),
    label: Schema.NullOr(Schema.String),
  }),
)
const decodeIds = BulkRows.decoder(Schema.Struct({ id: AccountId }))

const groups = {
  day: ["day", "day DESC"],
  key: ["account_id, api_key_id", `credits DESC, "accountId", "apiKeyId"`],
  account: ["account_id", `credits DESC, "accountId"`],
} as const

/** How many rows one statement sums at most: few, because SQLite blocks the process. */
const sliceSize = 2000

/** Returns the sums that a question asks for. On SQLite, reads those of all accounts in slices. */
export const make = (sql: SqlClient.SqlClient) => {
  const slice = makeSlice(sql)
  const lastOfSlice = sql.onDialectOrElse({
    sqlite: () => (after: string) =>
      sql`
        SELECT account_id AS id FROM usage WHERE account_id > ${after}
        ORDER BY account_id LIMIT 1 OFFSET ${sliceSize}`.withoutTransform.pipe(
        Effect.flatMap(decodeIds),
        Effect.map(([row]) => row?.id),
      ),
    orElse: () => () => Effect.succeed(undefined),
  })
  return Effect.fnUntraced(function* (question: Usage.Question) {
    const { account, limit = Number.POSITIVE_INFINITY } = question
    let rows: ReadonlyArray<Usage.Row> = []
    let after = ""
    while (true) {
      const last = account === undefined ? yield* lastOfSlice(after) : undefined
      rows = rows.concat(yield* slice(question, after, last))
      if (last === undefined) return Usage.merge(rows, question)
      if (rows.length > 2 * limit) rows = Usage.merge(rows, question)
      after = last
      yield* letOthersRun
    }
  })
}

/** Sums the usage of the accounts after one id, up to and including another. */
const makeSlice =
  (sql: SqlClient.SqlClient) =>
  (question: Usage.Question, after: string, last: AccountId | undefined) => {
    const { account, by, limit = Number.MAX_SAFE_INTEGER, ...period } = question
    const [columns, order] = groups[by]
    const column = (name: string, type: string, value = name) =>
      columns.includes(name) ? value : `CAST(NULL AS ${type})`
    const sums = summed.map((each) => `CAST(SUM(${each}) AS BIGINT) AS ${each}`)
    const [firstDay, lastDay] = Usage.daysOf(period)
    // The plus sign keeps SQLite from using the index by day, which also contains other accounts.
    const day = sql.literal(last === undefined && after === "" ? "day" : "+day")
    // A report of all days reads the whole table, which is faster without the index by day.
    const isBounded = period.since !== undefined || period.until !== undefined
    const isAsked = sql.and([
      ...(isBounded ? [sql`${day} BETWEEN ${firstDay} AND ${lastDay}`] : []),
      ...(account === undefined ? [] : [sql`account_id = ${account}`]),
      ...(after === "" ? [] : [sql`account_id > ${after}`]),
      ...(last === undefined ? [] : [sql`account_id <= ${last}`]),
    ])
    // The inner limit keeps SQLite from reading the index by day in its order.
    return sql`
      SELECT sums.*, accounts.name AS "accountName", api_keys.label AS label FROM (
        SELECT ${sql.literal(column("account_id", "TEXT"))} AS "accountId",
          ${sql.literal(column("api_key_id", "TEXT", "NULLIF(api_key_id, '')"))} AS "apiKeyId",
          ${sql.literal(column("day", "BIGINT"))} AS day, ${sql.literal(sums.join(", "))}
        FROM (SELECT * FROM usage WHERE ${isAsked} LIMIT ${Number.MAX_SAFE_INTEGER}) AS usage
        GROUP BY ${sql.literal(columns)}
        ORDER BY ${sql.literal(order)} LIMIT ${limit}
      ) AS sums
      LEFT JOIN accounts ON accounts.id = "accountId" LEFT JOIN api_keys ON api_keys.id = "apiKeyId"
      ORDER BY ${sql.literal(order)}`.withoutTransform.pipe(
      Effect.flatMap(decodeRows),
      Effect.map((rows) =>
        rows.map(({ invalid_url, provider_error, server_error, ...row }): Usage.Row => ({
          ...row,
          failed: {
            INVALID_URL: invalid_url,
            PROVIDER_ERROR: provider_error,
            SERVER_ERROR: server_error,
          },
        })),
      ),
    )
  }
