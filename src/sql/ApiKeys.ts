import * as SqlClient from "@effect/sql/SqlClient"
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
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { AccountId } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeyNotFound, ApiKeys, type Change, InvalidApiKey, type KeySearch } from "../ApiKeys.ts"
import { keyDetail } from "../AuditLog.ts"
import type { Detail } from "../ledger/AuditLine.ts"
import { makeLines } from "./auditLines.ts"
import { makeBudgetWrites, nothing } from "./budgetWrites.ts"
import * as Scope from "../Scope.ts"
import * as Failure from "./Failure.ts"
import { naming } from "./naming.ts"
import { pageSize, rowsAfter } from "./paging.ts"
import { makeRetryAfterDisconnection } from "./retry.ts"
import { hasName, isKey, pageOf } from "./search.ts"
import { forUpdate } from "./transaction.ts"

/** Stores API keys in SQL. Writes the time of a key's last use within about 5 seconds. */
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
  const { insert, put, revokedAt } = queries
  const usable = makeUsable(queries)
  const budgets = makeBudgetWrites(sql)
  const log = makeKeyLines(sql)

  return {
    issue: Effect.fn("ApiKeys.issue")(
      function* (options) {
        const now = yield* Clock.currentTimeMillis
        const issued = yield* insert(ApiKey.issue(ApiKey.terms(options), now))
        if (options.budget !== undefined) {
          yield* budgets.lock(options.account)
          yield* budgets.put(issued.record, options.budget, now, nothing)
        }
        yield* log.created(issued.record)
        return issued
      },
      sql.withTransaction,
      Failure.orDie,
    ),

    rotate: Effect.fn("ApiKeys.rotate")(
      function* (id, grace) {
        const { accountId } = yield* usable(id)
        yield* budgets.lock(accountId)
        // Read again when no other rotation of the key is under way, because it may end the key.
        yield* sql`SELECT id FROM api_keys WHERE id = ${id} ${forUpdate(sql)}`
        const now = yield* Clock.currentTimeMillis
        const former = yield* usable(id)
        const endsAt = ApiKey.endAfterGrace(former, now, Duration.toMillis(grace))
        yield* sql`UPDATE api_keys SET expires_at = ${endsAt} WHERE id = ${id}`
        const issued = yield* insert(ApiKey.issue(former, now))
        if (former.budget != null) yield* budgets.share(id, issued.record.id)
        yield* log.rotated(id, issued.record.id, endsAt)
        yield* log.created(issued.record, id)
        return issued
      },
      sql.withTransaction,
      Failure.orDie,
    ),

    update: Effect.fn("ApiKeys.update")(function* (id, { budget, ...change }) {
      const owner = yield* usable(id)
      const scanned = budget == null ? nothing : yield* budgets.scan(owner)
      return yield* Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // A rotation meanwhile would add a key that shares the budget, and get no line for it.
        if (budget !== undefined) yield* budgets.lock(owner.accountId)
        const sharing = budget === undefined ? [{ id }] : yield* budgets.keysOf(id)
        if (budget === null) yield* budgets.remove(owner)
        else if (budget !== undefined) yield* budgets.put(owner, budget, now, scanned)
        yield* put(id, change)
        for (const key of sharing) {
          yield* log.updated(key.id, key.id === id ? { ...change, budget } : { budget })
        }
        return yield* usable(id)
      }).pipe(sql.withTransaction)
    }, Failure.orDie),

    revoke: Effect.fn("ApiKeys.revoke")(
      function* (id) {
        const now = yield* Clock.currentTimeMillis
        const revoked = yield* revokedAt({ id, now })
        if (Option.isNone(revoked)) return yield* new ApiKeyNotFound({ id })
        yield* log.revoked(id, revoked.value.revokedAt)
        return { id, revokedAt: revoked.value.revokedAt }
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

/** Appends the lines of changed keys to the audit log, at the end of the caller's transaction. */
const makeKeyLines = (sql: SqlClient.SqlClient) => {
  const { appendChange } = makeLines(sql)
  const line = (
    action: string,
    id: ApiKey.ApiKeyId,
    changed: ReadonlyArray<string> | null,
    detail: Detail,
  ) => appendChange({ action, table: "api_keys", id, changed, detail })
  return {
    created: (record: ApiKey.ApiKey, replaces?: ApiKey.ApiKeyId) =>
      line("key.create", record.id, null, keyDetail.created(record, replaces)),
    rotated: (id: ApiKey.ApiKeyId, successor: ApiKey.ApiKeyId, expiresAt: number) =>
      line("key.rotate", id, ["expiresAt"], keyDetail.rotated(successor, expiresAt)),
    updated: (id: ApiKey.ApiKeyId, change: Change) => {
      const changed = [
        ...(change.label === undefined ? [] : ["label"]),
        ...(change.scopes === undefined ? [] : ["scopes"]),
        ...(change.budget === undefined ? [] : ["budget", "budgetId"]),
      ]
      return line("key.update", id, changed, keyDetail.updated(change))
    },
    revoked: (id: ApiKey.ApiKeyId, revokedAt: number) =>
      line("key.revoke", id, ["revokedAt"], keyDetail.revoked(revokedAt)),
  }
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
    revokedAt: SqlSchema.findOne({
      Request: Schema.Struct({ id: ApiKey.ApiKeyId, now: Schema.Int }),
      Result: Schema.Struct({ revokedAt: Schema.Int }),
      execute: ({ id, now }) => sql`
        UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ${now}) WHERE id = ${id}
        RETURNING revoked_at`,
    }),
    /** Leaves out the budget, which is in a table of its own. */
    insert: (issued: ApiKey.IssuedKey) => {
      const { budget: _, scopes, ...record } = issued.record
      const row = { ...record, scopes: Scope.textOf(scopes), hash: ApiKey.hash(issued.key) }
      return Effect.as(sql`INSERT INTO api_keys ${sql.insert(row)}`, issued)
    },
  }
}

type Queries = ReturnType<typeof makeQueries>

// Returns a function that records the last use of a key. No request waits for the write to the
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

// The budget is in a table of its own.
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
