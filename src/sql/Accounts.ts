import * as SqlClient from "@effect/sql/SqlClient"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { Account, AccountExists, AccountId, AccountNotFound, Accounts } from "../Account.ts"
import * as Balance from "../ledger/Balance.ts"
import { makeLines } from "./auditLines.ts"
import type { Search } from "../Search.ts"
import * as Failure from "./Failure.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"
import { hasName, isKey, pageOf } from "./search.ts"

/** Stores accounts in SQL. A new account gets an empty balance in the same transaction. */
export const layer: Layer.Layer<Accounts, never, SqlClient.SqlClient> = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const { appendChange } = makeLines(sql)
    const { all, byNameOrId, change, found } = makeQueries(sql)
    const line = (action: string, id: AccountId, changed: ReadonlyArray<string> | null) =>
      appendChange({ action, table: "accounts", id, changed, detail: {} })
    const changed = (id: AccountId, now: number | null) =>
      change({ id, now }).pipe(
        Effect.flatMap(Effect.mapError(() => new AccountNotFound({ account: id }))),
        Effect.zipLeft(
          line(now === null ? "account.resume" : "account.suspend", id, ["suspendedAt"]),
        ),
        sql.withTransaction,
        Failure.orDie,
      )

    return Accounts.of({
      create: Effect.fn("Accounts.create")(function* (name) {
        const account = Account.make({ id: AccountId.make(uuid()), name })
        const row = { ...account, createdAt: yield* Clock.currentTimeMillis }
        const opened = { accountId: account.id, ...Balance.empty }
        yield* sql`INSERT INTO accounts ${sql.insert(row)}`.pipe(
          Effect.zipRight(sql`INSERT INTO balances ${sql.insert(opened)}`),
          Effect.catchIf(Failure.isDuplicate, () => new AccountExists({ name })),
          Effect.zipRight(line("account.create", account.id, null)),
          sql.withTransaction,
        )
        return account
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
        return yield* changed(id, yield* Clock.currentTimeMillis)
      }),

      resume: Effect.fn("Accounts.resume")((id) => changed(id, null)),
    })
  }),
)

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
