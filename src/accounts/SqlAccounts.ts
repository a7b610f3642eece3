import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import type { Fragment } from "@effect/sql/Statement"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import {
  Account,
  AccountExists,
  AccountId,
  AccountNotFound,
  Accounts,
  type Search,
} from "./Account.ts"
import * as ApiKey from "./ApiKey.ts"
import { makeRecorded } from "./SqlAuditLog.ts"
import * as Failure from "../database/Failure.ts"
import { openBalance } from "../ledger/SqlStatements.ts"
import { makeRetryAfterDisconnection } from "../database/retry.ts"

/** Stores accounts in SQL. Creates the empty balance of a new account in the same transaction. */
export const layer: Layer.Layer<Accounts, never, SqlClient.SqlClient> = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const recorded = makeRecorded(sql)
    const nameOf = makeNameOf(sql)
    const { all, byNameOrId, change, found } = makeQueries(sql)
    const changed = (action: string, id: AccountId, now: number | null) =>
      nameOf(id).pipe(
        Effect.flatMap((name) =>
          recorded(
            action,
            name,
            {},
            Effect.flatMap(
              change({ id, now }),
              Effect.mapError(() => new AccountNotFound({ account: id })),
            ),
          ),
        ),
        Failure.orDie,
      )

    return Accounts.of({
      create: Effect.fn("Accounts.create")(function* (name) {
        const account = Account.make({ id: AccountId.make(uuid()), name })
        const row = { ...account, createdAt: yield* Clock.currentTimeMillis }
        const change = sql`INSERT INTO accounts ${sql.insert(row)}`.pipe(
          Effect.zipRight(openBalance(sql, account.id)),
          Effect.catchIf(Failure.isDuplicate, () => new AccountExists({ name })),
          Effect.as(account),
        )
        return yield* recorded("account.create", name, {}, change)
      }, Failure.orDie),

      find: Effect.fn("Accounts.find")(function* (nameOrId) {
        const found = yield* retried(byNameOrId(nameOrId))
        return yield* Option.fromNullable(found.find(({ id }) => id === nameOrId) ?? found[0]).pipe(
          Effect.mapError(() => new AccountNotFound({ account: nameOrId })),
        )
      }, Failure.orDie),

      list: all().pipe(retried, Failure.orDie),

      search: Effect.fn("Accounts.search")((search) =>
        Failure.orDie(Effect.flatMap(retried(found(search)), decodeAccounts)),
      ),

      suspend: Effect.fn("Accounts.suspend")(function* (id) {
        return yield* changed("account.suspend", id, yield* Clock.currentTimeMillis)
      }),

      resume: Effect.fn("Accounts.resume")((id) => changed("account.resume", id, null)),
    })
  }),
)

/** Makes a function that returns an account's name, or the id when there is no such account. */
export const makeNameOf = (sql: SqlClient.SqlClient) => {
  const named = SqlSchema.findOne({
    Request: AccountId,
    Result: Schema.Struct({ name: Schema.String }),
    execute: (id) => sql`SELECT name FROM accounts WHERE id = ${id}`,
  })
  return (id: AccountId) =>
    Effect.map(named(id), Option.match({ onNone: () => id, onSome: ({ name }) => name }))
}

const makeQueries = (sql: SqlClient.SqlClient) => ({
  byNameOrId: SqlSchema.findAll({
    Request: Schema.String,
    Result: Account,
    execute: (nameOrId) =>
      sql`SELECT id, name, suspended_at FROM accounts WHERE name = ${nameOrId} OR id = ${nameOrId}`,
  }),
  all: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Account,
    execute: () => sql`SELECT id, name, suspended_at FROM accounts ORDER BY name`,
  }),
  change: SqlSchema.findOne({
    Request: Schema.Struct({ id: AccountId, now: Schema.NullOr(Schema.Int) }),
    Result: Account,
    execute: ({ id, now }) => sql`
      UPDATE accounts
      SET suspended_at = ${now === null ? null : sql`COALESCE(suspended_at, ${now})`}
      WHERE id = ${id} RETURNING id, name, suspended_at`,
  }),
  found: ({ text, ...search }: Search) => {
    const isFound =
      text === undefined
        ? sql`1 = 1`
        : sql`(${hasName(sql, text)} OR accounts.id IN (
            SELECT account_id FROM api_keys WHERE ${isKey(sql, text)}
          ))`
    return sql`
      SELECT id, name, suspended_at FROM accounts
      ${pageOf(sql, "accounts", search, isFound)}`
  },
})

const decodeAccounts = Schema.decodeUnknown(Schema.Array(Account))

/** The end of a statement that selects one page of a table, newest first. */
export const pageOf = (
  sql: SqlClient.SqlClient,
  table: "accounts" | "api_keys",
  { before, limit }: Search,
  found: Fragment,
): Fragment => {
  const id = sql.literal(`${table}.id`)
  const isEarlier = before === undefined ? [] : [sql`${id} < ${before}`]
  return sql`WHERE ${sql.and([found, ...isEarlier])} ORDER BY ${id} DESC LIMIT ${limit}`
}

/** The condition that an account's name contains the text. */
export const hasName = (sql: SqlClient.SqlClient, text: string) =>
  contains(sql, "accounts.name", text)

/** The condition that a key's label contains the text, or that the key begins with it. */
export const isKey = (sql: SqlClient.SqlClient, text: string): Fragment => {
  const start = ApiKey.startOf(text)
  return sql.or([
    contains(sql, "api_keys.label", text),
    ...(start === undefined
      ? []
      : [sql`SUBSTR(api_keys.start, 1, ${sql.literal(String(start.length))}) = ${start}`]),
  ])
}

const contains = (
  sql: SqlClient.SqlClient,
  column: "accounts.name" | "api_keys.label",
  text: string,
): Fragment => {
  const pattern = `%${folded(text).replaceAll(/[!%_]/g, "!$&")}%`
  // SQLite's LIKE ignores the case of ASCII letters only. So does this PostgreSQL collation.
  const lowered = sql.onDialectOrElse({
    sqlite: () => sql.literal(column),
    orElse: () => sql.literal(`LOWER(${column} COLLATE "C")`),
  })
  return sql`${lowered} LIKE ${pattern} ESCAPE '!'`
}

const folded = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
