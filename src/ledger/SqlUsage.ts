/** The table `usage`: the sums that commits add to, and the SQL of the reports. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { snakeToCamel } from "effect/String"
import { AccountId } from "../Account.ts"
import { ApiKeyId } from "../ApiKey.ts"
import * as Usage from "./Usage.ts"
import { letOthersRun } from "../time/letOthersRun.ts"
import { isAmong, type Table } from "../sql/bulkRows.ts"
import * as prepared from "../sql/prepared.ts"

const Row = Schema.Struct({
  accountId: Schema.NullOr(AccountId),
  apiKeyId: Schema.NullOr(ApiKeyId),
  day: Schema.NullOr(Schema.Int),
  checks: Schema.Int,
  credits: Schema.Int,
  known: Schema.Int,
  invalidUrl: Schema.Int,
  providerError: Schema.Int,
  serverError: Schema.Int,
})

/** The columns by which rows are summed and ordered. */
const groups = {
  day: { columns: ["day"], order: "day DESC" },
  key: {
    columns: ["account_id", "api_key_id"],
    order: "credits DESC, usage.account_id, usage.api_key_id",
  },
  account: { columns: ["account_id"], order: "credits DESC, usage.account_id" },
} as const

const grouped = (by: Usage.Question["by"]) => {
  const columns: ReadonlyArray<string> = groups[by].columns
  const column = (name: string, as: string, type: string, value = name) =>
    `${columns.includes(name) ? value : `CAST(NULL AS ${type})`} AS "${as}"`
  return [
    column("account_id", "accountId", "TEXT"),
    column("api_key_id", "apiKeyId", "TEXT", "NULLIF(api_key_id, '')"),
    column("day", "day", "BIGINT"),
  ].join(", ")
}

const summed = ["checks", "credits", "known", "invalid_url", "provider_error", "server_error"]

/** A commit adds to the sums. */
export const table: Table<Usage.DailyUsage> = {
  name: "usage",
  key: ["account_id", "day", "api_key_id"],
  columns: {
    account_id: ["TEXT", (row) => row.accountId],
    day: ["BIGINT", (row) => row.day],
    api_key_id: ["TEXT", (row) => row.apiKeyId ?? ""],
    checks: ["BIGINT", (row) => row.checks],
    credits: ["BIGINT", (row) => row.credits],
    known: ["BIGINT", (row) => row.known],
    invalid_url: ["BIGINT", (row) => row.failed.INVALID_URL],
    provider_error: ["BIGINT", (row) => row.failed.PROVIDER_ERROR],
    server_error: ["BIGINT", (row) => row.failed.SERVER_ERROR],
  },
  changes: Object.fromEntries(
    summed.map((column) => [column, `usage.${column} + excluded.${column}`]),
  ),
}

const sums = summed
  .map((column) => `CAST(SUM(${column}) AS BIGINT) AS "${snakeToCamel(column)}"`)
  .join(", ")

/**
 * A LIMIT that leaves nothing out. Behind it, PostgreSQL reads a table without parallel workers,
 * whose start takes longer than they save, and SQLite reads a slice by the key of the table.
 */
const everything = Number.MAX_SAFE_INTEGER

/** How many rows SQLite adds up in one statement: few, because the process does nothing else. */
const sliceSize = 4000

const decodeRows = prepared.decoder(Row)
const decodeIds = prepared.decoder(Schema.Struct({ id: Schema.String }))
const decodeNames = prepared.decoder(
  Schema.Struct({ id: Schema.String, name: Schema.NullOr(Schema.String) }),
)

/**
 * Returns the sums that a question asks for. Sums over all accounts are read in slices of whole
 * accounts on SQLite, and the names of their accounts and keys after the limit.
 */
export const make = (sql: SqlClient.SqlClient) => {
  const slice = makeSlice(sql)
  const named = makeNamed(sql)
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
      if (last === undefined) return yield* named(Usage.merge(rows, question), question)
      if (rows.length > 2 * limit) rows = Usage.merge(rows, question)
      after = last
      yield* letOthersRun
    }
  })
}

/** Sums the usage of the accounts after one id, up to another. */
const makeSlice =
  (sql: SqlClient.SqlClient) =>
  (question: Usage.Question, after: string, last: string | undefined) => {
    const { account, by, limit = Number.MAX_SAFE_INTEGER } = question
    // The plus sign keeps SQLite from the index of the days, which has other accounts too.
    const byKey = sql.literal(last === undefined && after === "" ? "" : "+")
    const [firstDay, lastDay] = Usage.daysOf(question)
    // A report of all days reads the whole table, which is faster without the index of the days.
    const isBounded = question.since !== undefined || question.until !== undefined
    const conditions = [
      ...(isBounded ? [sql`${byKey}day BETWEEN ${firstDay} AND ${lastDay}`] : []),
      ...(account === undefined ? [] : [sql`account_id = ${account}`]),
      ...(after === "" ? [] : [sql`account_id > ${after}`]),
      ...(last === undefined ? [] : [sql`account_id <= ${last}`]),
    ]
    return sql`
      SELECT ${sql.literal(grouped(by))}, ${sql.literal(sums)}
      FROM (SELECT * FROM usage WHERE ${sql.and(conditions)} LIMIT ${everything}) AS usage
      GROUP BY ${sql.literal(groups[by].columns.map((name) => `usage.${name}`).join(", "))}
      ORDER BY ${sql.literal(groups[by].order)} LIMIT ${limit}`.withoutTransform.pipe(
      Effect.flatMap(decodeRows),
      Effect.map((rows) =>
        rows.map(({ invalidUrl, providerError, serverError, ...row }): Usage.Row => ({
          ...row,
          failed: {
            INVALID_URL: invalidUrl,
            PROVIDER_ERROR: providerError,
            SERVER_ERROR: serverError,
          },
        })),
      ),
    )
  }

/** Adds the names of accounts and the labels of keys, as far as the question needs them. */
const makeNamed = (sql: SqlClient.SqlClient) => {
  const namesOf = (
    table: "accounts" | "api_keys",
    column: "name" | "label",
    ids: Iterable<string>,
  ) =>
    sql`
      SELECT id, ${sql.literal(column)} AS name FROM ${sql.literal(table)}
      WHERE id ${isAmong(sql, [...new Set(ids)])}`.withoutTransform.pipe(
      Effect.flatMap(decodeNames),
      Effect.map((rows) => new Map(rows.map(({ id, name }) => [id, name]))),
    )
  const none = new Map<string, string | null>()
  return Effect.fnUntraced(function* (
    rows: ReadonlyArray<Usage.Row>,
    { account, by }: Usage.Question,
  ) {
    if (by === "day") return rows
    const names =
      account === undefined
        ? yield* namesOf(
            "accounts",
            "name",
            rows.map(({ accountId }) => accountId ?? ""),
          )
        : none
    const labels =
      by === "key"
        ? yield* namesOf(
            "api_keys",
            "label",
            rows.map(({ apiKeyId }) => apiKeyId ?? ""),
          )
        : none
    return rows.map((row): Usage.Row => ({
      ...row,
      accountName: names.get(row.accountId ?? "") ?? null,
      label: labels.get(row.apiKeyId ?? "") ?? null,
    }))
  })
}
