import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqlSchema from "@effect/sql/SqlSchema"
import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { AccountId } from "./Account.ts"
import * as ApiKey from "./ApiKey.ts"
import { ApiKeyNotFound, ApiKeys, type Change, InvalidApiKey, type KeySearch } from "./ApiKeys.ts"
import { type Detail, keyDetail } from "./AuditLog.ts"
import type { BudgetId } from "../ledger/budgets/Budget.ts"
import { hasName, isKey, makeNameOf, pageOf } from "./SqlAccounts.ts"
import { makeRecorded } from "./SqlAuditLog.ts"
import * as SqlBudgets from "../ledger/budgets/SqlBudgets.ts"
import { isAmong } from "../database/rows/bulkRows.ts"
import * as Scope from "./Scope.ts"
import * as Failure from "../database/Failure.ts"
import { forUpdate, naming } from "../database/rows/dialects.ts"
import { pageSize, rowsAfter } from "../database/rows/paging.ts"
import { makeRetryAfterDisconnection } from "../database/retry.ts"

/** Stores API keys in SQL. Saves the time of a key's last use within about 5 seconds. */
export const layer: Layer.Layer<ApiKeys, never, SqlClient.SqlClient> = Layer.scoped(
  ApiKeys,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const retried = yield* makeRetryAfterDisconnection
    const queries = makeQueries(sql)
    const { after, byAccount, byHash, byId, found } = queries
    const noteUse = yield* makeNoteUse(sql)

    return ApiKeys.of({
      ...makeChanges(sql, queries),

      authenticate: Effect.fn("ApiKeys.authenticate")(function* (key) {
        if (!ApiKey.isWellFormed(key)) return yield* new InvalidApiKey()
        const record = yield* retried(byHash(ApiKey.hash(key)))
        const now = yield* Clock.currentTimeMillis
        if (Option.isNone(record) || !ApiKey.isUsable(record.value, now)) {
          return yield* new InvalidApiKey()
        }
        yield* noteUse(record.value.id, now)
        return record.value
      }, Failure.orDie),

      find: Effect.fn("ApiKeys.find")(function* (id) {
        return yield* Effect.mapError(yield* byId(id), () => new ApiKeyNotFound({ id }))
      }, Failure.orDie),

      list: Effect.fn("ApiKeys.list")((account) => Failure.orDie(byAccount(account))),

      search: Effect.fn("ApiKeys.search")((search) =>
        Failure.orDie(Effect.flatMap(retried(found(search)), decodeKeys)),
      ),

      unreadable: rowsAfter("", after, ({ id }) => id).pipe(
        Stream.filterMap(problemOf),
        Stream.runCollect,
        Effect.map(Chunk.toReadonlyArray),
      ),
    })
  }),
)

type Changes = Pick<ApiKeys["Type"], "issue" | "rotate" | "update" | "revoke">

const makeChanges = (sql: SqlClient.SqlClient, queries: Queries): Changes => {
  const { insert, owner, put, setBudget, share } = queries
  const usable = makeUsable(queries)
  const budgets = SqlBudgets.makeWrites(sql)
  const recorded = makeRecordedOfKey(sql)

  return {
    issue: Effect.fn("ApiKeys.issue")(function* (options) {
      const now = yield* Clock.currentTimeMillis
      const issued = ApiKey.issue(ApiKey.terms(options), now)
      const { record } = issued
      const change = Effect.gen(function* () {
        yield* insert(issued)
        if (options.budget === undefined) return
        yield* budgets.lock(options.account)
        yield* setBudget([record], yield* budgets.put(record, options.budget, now))
      })
      yield* recorded("key.create", record, keyDetail.created(record), change)
      return issued
    }, Failure.orDie),

    rotate: Effect.fn("ApiKeys.rotate")(
      function* (id, grace) {
        const { accountId } = yield* usable(id)
        yield* budgets.lock(accountId)
        // Wait for the row lock before reading the key again: another rotation may just have ended
        // it.
        yield* sql`SELECT id FROM api_keys WHERE id = ${id} ${forUpdate(sql)}`
        const now = yield* Clock.currentTimeMillis
        const former = yield* usable(id)
        const endsAt = ApiKey.endAfterGrace(former, now, Duration.toMillis(grace))
        const issued = ApiKey.issue(former, now)
        const { record } = issued
        const change = Effect.gen(function* () {
          yield* sql`UPDATE api_keys SET expires_at = ${endsAt} WHERE id = ${id}`
          yield* insert(issued)
          yield* share(id, record.id)
        })
        const detail = keyDetail.rotated(record.id, endsAt)
        const rotation = recorded("key.rotate", former, detail, change)
        yield* recorded("key.create", record, keyDetail.created(record, id), rotation)
        return issued
      },
      sql.withTransaction,
      Failure.orDie,
    ),

    update: Effect.fn("ApiKeys.update")(function* (id, { budget, ...change }) {
      const key = yield* usable(id)
      const { accountId } = key
      return yield* Effect.gen(function* () {
        // Lock out rotations: one could add a key that shares the budget and gets no audit line.
        if (budget !== undefined) yield* budgets.lock(accountId)
        const now = yield* Clock.currentTimeMillis
        const sharing = budget === undefined ? [key] : yield* budgets.keysOf(id)
        const write: Effect.Effect<void, SqlError | ParseError> = Effect.gen(function* () {
          if (budget === null) {
            const former = yield* budgets.current(id)
            yield* setBudget(sharing, null)
            yield* budgets.remove(accountId, former)
          } else if (budget !== undefined) {
            yield* setBudget([key], yield* budgets.put(key, budget, now))
          }
          yield* put(id, change)
        })
        yield* sharing.reduce((write, each) => {
          const detail = keyDetail.updated(each.id === id ? { ...change, budget } : { budget })
          return recorded("key.update", { accountId, id: each.id }, detail, write)
        }, write)
        return yield* usable(id)
      }).pipe(sql.withTransaction)
    }, Failure.orDie),

    revoke: Effect.fn("ApiKeys.revoke")(
      function* (id) {
        const now = yield* Clock.currentTimeMillis
        const found = yield* owner(id)
        const { revokedAt, ...key } = yield* Effect.mapError(
          found,
          () => new ApiKeyNotFound({ id }),
        )
        const at = revokedAt ?? now
        const end = sql`UPDATE api_keys SET revoked_at = ${at} WHERE id = ${id}`
        yield* recorded("key.revoke", key, keyDetail.revoked(at), end)
        return { id, revokedAt: at }
      },
      sql.withTransaction,
      Failure.orDie,
    ),
  }
}

const makeUsable = ({ byId }: Queries) =>
  Effect.fnUntraced(function* (id: ApiKey.ApiKeyId) {
    const found = yield* byId(id)
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(found) || !ApiKey.isUsable(found.value, now)) {
      return yield* new ApiKeyNotFound({ id })
    }
    return found.value
  })

/**
 * Makes a function that changes a key and records the change with the name of the key's account.
 */
const makeRecordedOfKey = (sql: SqlClient.SqlClient) => {
  const recorded = makeRecorded(sql)
  const nameOf = makeNameOf(sql)
  return Effect.fnUntraced(function* <A, E, R>(
    action: string,
    { accountId, id }: Pick<ApiKey.ApiKey, "accountId" | "id">,
    detail: Detail,
    change: Effect.Effect<A, E, R>,
  ) {
    const account = yield* nameOf(accountId)
    return yield* recorded(action, id, { account, ...detail }, change)
  })
}

const makeQueries = (sql: SqlClient.SqlClient) => {
  const columns = sql`
    ${sql.literal(columnNames.join(", "))},
    (SELECT b.credits || '/' || b.period FROM budgets b WHERE b.id = api_keys.budget_id) AS budget`
  const keysOfAccounts = sql`
    SELECT ${columns}, accounts.name AS account_name, accounts.suspended_at AS account_suspended_at
    FROM api_keys JOIN accounts ON accounts.id = api_keys.account_id`
  return {
    byHash: SqlSchema.findOne({
      Request: ApiKey.KeyHash,
      Result: KeyOfAccount,
      execute: (hash) => sql`${keysOfAccounts} WHERE hash = ${hash}`,
    }),
    byId: SqlSchema.findOne({
      Request: ApiKey.ApiKeyId,
      Result: Row,
      execute: (id) => sql`SELECT ${columns} FROM api_keys WHERE id = ${id}`,
    }),
    byAccount: SqlSchema.findAll({
      Request: AccountId,
      Result: Row,
      execute: (account) =>
        sql`SELECT ${columns} FROM api_keys WHERE account_id = ${account} ORDER BY created_at, id`,
    }),
    found: ({ account, text, ...search }: KeySearch) => {
      const isFound = sql.and([
        ...(account === undefined ? [] : [sql`api_keys.account_id = ${account}`]),
        ...(text === undefined
          ? []
          : [
              sql`(${isKey(sql, text)} OR api_keys.account_id IN (
                SELECT id FROM accounts WHERE ${hasName(sql, text)}
              ))`,
            ]),
      ])
      return sql`${keysOfAccounts} ${pageOf(sql, "api_keys", search, isFound)}`
    },
    after: SqlSchema.findAll({
      Request: Schema.String,
      Result: UndecodedKey,
      execute: (id) =>
        sql`SELECT ${columns} FROM api_keys WHERE id > ${id} ORDER BY id LIMIT ${pageSize}`,
    }),
    put: (id: ApiKey.ApiKeyId, { label, scopes }: Omit<Change, "budget">) => {
      const row = {
        ...(label !== undefined && { label }),
        ...(scopes !== undefined && { scopes: Scope.textOf(scopes) }),
      }
      return Object.keys(row).length === 0
        ? Effect.void
        : sql`UPDATE api_keys SET ${sql.update(row)} WHERE id = ${id}`
    },
    /** Locks the key. Reads few columns, so that a key with a damaged record can be revoked. */
    owner: SqlSchema.findOne({
      Request: ApiKey.ApiKeyId,
      Result: Schema.Struct({
        id: ApiKey.ApiKeyId,
        accountId: AccountId,
        revokedAt: Schema.NullOr(Schema.Int),
      }),
      execute: (id) => sql`
        SELECT id, account_id, revoked_at FROM api_keys WHERE id = ${id} ${forUpdate(sql)}`,
    }),
    setBudget: (
      keys: ReadonlyArray<{ readonly id: ApiKey.ApiKeyId }>,
      budget: BudgetId | null,
    ) => sql`
      UPDATE api_keys SET budget_id = ${budget}
      WHERE id ${isAmong(
        sql,
        keys.map(({ id }) => id),
      )}`,
    share: (from: ApiKey.ApiKeyId, to: ApiKey.ApiKeyId) => sql`
      UPDATE api_keys SET budget_id = (SELECT budget_id FROM api_keys WHERE id = ${from})
      WHERE id = ${to}`,
    /** Inserts a key without its budget, which is stored in another table. */
    insert: (issued: ApiKey.IssuedKey) => {
      const { budget: _, scopes, ...record } = issued.record
      const row = { ...record, scopes: Scope.textOf(scopes), hash: ApiKey.hash(issued.key) }
      return sql`INSERT INTO api_keys ${sql.insert(row)}`
    },
  }
}

type Queries = ReturnType<typeof makeQueries>

// Returns a function that records the last use of a key, without making a request wait for the
// database.
const makeNoteUse = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const lastUses = new Map<ApiKey.ApiKeyId, number>()
    const write = Effect.suspend(() => {
      // Every process updates the rows in the same order, which prevents deadlocks.
      const uses = Arr.sortWith(lastUses, ([id]) => id, Order.string)
      lastUses.clear()
      return Effect.forEach(
        uses,
        ([id, at]) => sql`
          UPDATE api_keys SET last_used_at = ${at}
          WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${at})`,
      ).pipe(
        sql.withTransaction,
        Effect.when(() => uses.length > 0),
      )
    }).pipe(
      Effect.catchAllCause((cause) =>
        Effect.logDebug(
          "The times of last use of API keys were not saved, so 'authority key list' may show earlier times.",
          cause,
        ),
      ),
    )
    const scope = yield* Effect.scope
    yield* Effect.addFinalizer(() => write)

    return (id: ApiKey.ApiKeyId, now: number) =>
      Effect.suspend(() => {
        const isFirst = lastUses.size === 0
        lastUses.set(id, now)
        return isFirst ? Effect.forkIn(Effect.delay(write, "5 seconds"), scope) : Effect.void
      })
  })

const Row = Schema.Struct({ ...ApiKey.ApiKey.fields, scopes: Scope.Text })

const KeyOfAccount = Schema.Struct({
  ...Row.fields,
  accountName: Schema.String,
  accountSuspendedAt: Schema.NullOr(Schema.Int),
})

const decodeKeys = Schema.decodeUnknown(Schema.Array(KeyOfAccount))

// The budget is stored in another table.
const columnNames = Object.keys(Struct.omit(Row.fields, "budget")).map(
  (name) => `api_keys.${naming.transformQueryNames(name)}`,
)

const UndecodedKey = Schema.Struct(
  { id: ApiKey.ApiKeyId },
  { key: Schema.String, value: Schema.Unknown },
)

const decodeKey = Schema.decodeUnknownEither(Row)

const problemOf = (row: typeof UndecodedKey.Type): Option.Option<ApiKey.UnreadableKey> =>
  Option.map(Either.getLeft(decodeKey(row)), (error) => ({
    id: row.id,
    problem: Failure.unreadable(error),
  }))
