/** The table `usage`: the sums that commits add to, and the SQL of the reports. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { ApiKeyId } from "../ApiKey.ts"
import type { Table } from "../sql/bulkRows.ts"
import * as prepared from "../sql/prepared.ts"
import * as Usage from "./Usage.ts"

const summed = ["checks", "credits", "known", "invalid_url", "provider_error", "server_error"]

/** A commit adds to the sums. */
export const table: Table<Usage.DailyUsage> = {
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

const NullableText = Schema.NullOr(Schema.String)
const decodeRows = prepared.decoder(
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
    accountName: NullableText,
    label: NullableText,
  }),
)

const groups = {
  day: ["day", "day DESC"],
  key: ["account_id, api_key_id", `credits DESC, "accountId", "apiKeyId"`],
  account: ["account_id", `credits DESC, "accountId"`],
} as const

/** Returns the sums that a question asks for. */
export const make =
  (sql: SqlClient.SqlClient) =>
  ({ account, by, limit = Number.MAX_SAFE_INTEGER, ...period }: Usage.Question) => {
    const [columns, order] = groups[by]
    const column = (name: string, type: string, value = name) =>
      columns.includes(name) ? value : `CAST(NULL AS ${type})`
    const sums = summed.map((each) => `CAST(SUM(${each}) AS BIGINT) AS ${each}`)
    const [firstDay, lastDay] = Usage.daysOf(period)
    // A report of all days reads the whole table, which is faster without the index of the days.
    const isBounded = period.since !== undefined || period.until !== undefined
    const isAsked = sql.and([
      ...(isBounded ? [sql`day BETWEEN ${firstDay} AND ${lastDay}`] : []),
      ...(account === undefined ? [] : [sql`account_id = ${account}`]),
    ])
    return sql`
      SELECT rows.*,
        (SELECT name FROM accounts WHERE id = "accountId" AND ${account ?? ""} = '') AS "accountName",
        (SELECT label FROM api_keys WHERE id = "apiKeyId") AS label
      FROM (
        SELECT ${sql.literal(column("account_id", "TEXT"))} AS "accountId",
          ${sql.literal(column("api_key_id", "TEXT", "NULLIF(api_key_id, '')"))} AS "apiKeyId",
          ${sql.literal(column("day", "BIGINT"))} AS day, ${sql.literal(sums.join(", "))}
        FROM usage WHERE ${isAsked} GROUP BY ${sql.literal(columns)}
        ORDER BY ${sql.literal(order)} LIMIT ${limit}
      ) AS rows ORDER BY ${sql.literal(order)}`.withoutTransform.pipe(
      Effect.flatMap(decodeRows),
      Effect.map((rows) => (by === "day" ? rows.toReversed() : rows)),
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
