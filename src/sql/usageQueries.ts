/** The SQL statements that read the table `usage`. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import { ApiKeyId } from "../ApiKey.ts"
import * as Usage from "../ledger/Usage.ts"

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
  const column = (name: string, type: string, value = name) =>
    `${columns.includes(name) ? value : `CAST(NULL AS ${type})`} AS ${name}`
  return [
    column("account_id", "TEXT"),
    column("api_key_id", "TEXT", "NULLIF(api_key_id, '')"),
    column("day", "BIGINT"),
  ].join(", ")
}

const sums = ["checks", "credits", "known", "invalid_url", "provider_error", "server_error"]
  .map((column) => `CAST(SUM(${column}) AS BIGINT) AS ${column}`)
  .join(", ")

/**
 * Behind a LIMIT, PostgreSQL reads a table without parallel workers, whose start takes longer than
 * they save.
 */
const withoutWorkers = (sql: SqlClient.SqlClient) =>
  sql.onDialectOrElse({
    sqlite: () => sql``,
    orElse: () => sql`LIMIT ${Number.MAX_SAFE_INTEGER}`,
  })

/** Returns the sums that a question asks for; those by day newest first. */
export const makeUsage = (sql: SqlClient.SqlClient) => (question: Usage.Question) => {
  const { account, by, limit = Number.MAX_SAFE_INTEGER } = question
  const [first, last] = Usage.daysOf(question)
  // A report of all days reads the whole table, which is faster without the index of the days.
  const isBounded = question.since !== undefined || question.until !== undefined
  const conditions = [
    ...(isBounded ? [sql`day BETWEEN ${first} AND ${last}`] : []),
    ...(account === undefined ? [] : [sql`account_id = ${account}`]),
  ]
  return SqlSchema.findAll({
    Request: Schema.Void,
    Result: Row,
    execute: () => sql`
      SELECT ${sql.literal(grouped(by))}, ${sql.literal(sums)}
      FROM (SELECT * FROM usage WHERE ${sql.and(conditions)} ${withoutWorkers(sql)}) AS usage
      GROUP BY ${sql.literal(groups[by].columns.map((name) => `usage.${name}`).join(", "))}
      ORDER BY ${sql.literal(groups[by].order)} LIMIT ${limit}`,
  })().pipe(
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

/** The numbers are only shown, and may be what no schema accepts. */
const Mismatch = Schema.Struct(
  { apiKeyId: Schema.String, day: Schema.Int },
  { key: Schema.String, value: Schema.Unknown },
)

/**
 * Returns how the usage of an account differs from its entries. One statement reads both, so that
 * they belong to the same moment. Entries that name no key may be of a version that counted no usage.
 */
export const makeUsageProblems = (sql: SqlClient.SqlClient) => {
  const mismatches = SqlSchema.findAll({
    Request: AccountId,
    Result: Mismatch,
    execute: (account) => sql`
      SELECT day, api_key_id, COALESCE(u.checks, 0) AS checks, COALESCE(u.credits, 0) AS credits,
        COALESCE(e.checks, 0) AS entry_checks, COALESCE(e.credits, 0) AS entry_credits
      FROM (SELECT * FROM usage WHERE account_id = ${account}) u
      FULL JOIN (
        SELECT at / 86400000 AS day, COALESCE(api_key_id, '') AS api_key_id,
          SUM(urls) AS checks, SUM(amount) AS credits
        FROM entries WHERE account_id = ${account} AND kind = 'charge' GROUP BY 1, 2
      ) e USING (day, api_key_id)
      WHERE COALESCE(u.checks, 0) > COALESCE(e.checks, 0)
        OR COALESCE(u.credits, 0) > COALESCE(e.credits, 0)
        OR (api_key_id <> '' AND COALESCE(u.checks, 0) < COALESCE(e.checks, 0))
        OR (api_key_id <> '' AND COALESCE(u.credits, 0) < COALESCE(e.credits, 0))
      ORDER BY day, api_key_id LIMIT 100`,
  })
  return (account: AccountId) =>
    Effect.map(mismatches(account), (rows) =>
      rows.map(
        ({ apiKeyId, checks, credits, day, entryChecks, entryCredits }) =>
          `account ${account}: the usage of ${apiKeyId === "" ? "no key" : `key ${apiKeyId}`} ` +
          `on ${Usage.dateOf(day)} has ${checks} checks and ${credits} credits, ` +
          `but the entries add up to ${entryChecks} and ${entryCredits}`,
      ),
    )
}
