/** What `credits verify` finds in a database that was changed by hand. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { newAccount, newAccountWith } from "../../scripts/support/accounts.ts"
import { charge, credits, figures, grant, statement } from "../../scripts/support/ledger.ts"
import { Accounts } from "../../src/Account.ts"
import { ApiKeys } from "../../src/ApiKeys.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { AuditLog } from "../../src/AuditLog.ts"
import { chainHash } from "../../src/ledger/LedgerEntry.ts"
import {
  newFile,
  type Ports,
  ofRun,
  postgresDatabase,
  sqliteFile,
  sqlStores,
  temporaryDatabase,
} from "../support/Stores.ts"

const verify = Effect.flatMap(AuditLog, ({ verify }) => verify)

/** An account with 10 credits, and its key, which was revoked. */
const made = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const account = yield* newAccountWith(10)
  const { record } = yield* keys.issue({ account, expiresIn: Duration.days(90) })
  yield* keys.revoke(record.id)
  return { account, key: record.id }
})
type Made = Effect.Effect.Success<typeof made>

/** Changes the database by hand, and returns the problems that are then found. Then rolls back. */
const problemsAfter = <R>(tamper: Effect.Effect<unknown, unknown, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    let found: ReadonlyArray<string> | undefined
    const look = Effect.map(verify, ({ problems }) => {
      found = problems
    })
    yield* Effect.zipRight(tamper, look).pipe(
      // A conflict must be a failure, after which the transaction starts again.
      Effect.catchAllDefect(Effect.fail),
      Effect.zipRight(Effect.fail("roll back")),
      sql.withTransaction,
      Effect.flip,
    )
    return found ?? assert.fail("not verified")
  })

const suite = (name: string, store: Layer.Layer<Ports | SqlClient.SqlClient, unknown>) =>
  layer(store)(`the audit log in ${name}`, (it) => {
    const reports = (
      what: string,
      problem: (made: Made) => string,
      tamper: (
        sql: SqlClient.SqlClient,
        made: Made,
      ) => Effect.Effect<unknown, unknown, Ports | SqlClient.SqlClient>,
    ) =>
      it.effect(`${what} is found`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* made
          yield* made
          assert.deepStrictEqual((yield* verify).problems, [])
          assert.deepStrictEqual(yield* problemsAfter(tamper(sql, rows)), [problem(rows)])
        }),
      )

    const column = (name: string) => `its ${name} was changed without a line in the audit log`

    describe("keys and accounts that were changed by hand", () => {
      const keys: ReadonlyArray<readonly [string, column: string, value: string | number | null]> =
        [
          ["a revoked key that was revived", "revoked_at", null],
          ["a key with a later expiry", "expires_at", 4_000_000_000_000],
          ["a key without an expiry", "expires_at", null],
          ["a key with another hash", "hash", "0".repeat(64)],
          ["a key with another label", "label", "mine"],
          ["a key with another lifetime", "lifetime_ms", null],
        ]
      for (const [what, name, value] of keys) {
        reports(
          what,
          ({ key }) => `key ${key}: ${column(name)}`,
          (sql, { key }) =>
            sql`UPDATE api_keys SET ${sql.literal(name)} = ${value} WHERE id = ${key}`,
        )
      }
      reports(
        "a key that was moved to another account",
        ({ key }) => `key ${key}: ${column("account_id")}`,
        (sql, { key }) =>
          Effect.flatMap(
            newAccount,
            ({ id }) => sql`UPDATE api_keys SET account_id = ${id} WHERE id = ${key}`,
          ),
      )
      reports(
        "a key that was deleted",
        ({ key }) => `key ${key}: it was deleted without a line in the audit log`,
        (sql, { key }) => sql`DELETE FROM api_keys WHERE id = ${key}`,
      )
      reports(
        "an account that was renamed",
        ({ account }) => `account ${account}: ${column("name")}`,
        (sql, { account }) => sql`UPDATE accounts SET name = 'renamed' WHERE id = ${account}`,
      )
      reports(
        "a key that was moved by hand before another act on it",
        ({ key }) => `key ${key}: ${column("label")}`,
        (sql, { key }) =>
          Effect.zipRight(
            sql`UPDATE api_keys SET label = 'mine' WHERE id = ${key}`,
            Effect.flatMap(ApiKeys, ({ revoke }) => revoke(key)),
          ),
      )
      reports(
        "a key that was inserted",
        () => "the audit log began with 0 keys, but 1 have no line",
        (sql, { account }) => sql`
          INSERT INTO api_keys (id, account_id, hash, start, created_at)
          VALUES ('forged', ${account}, 'forged', 'am_forged', 0)`,
      )
      reports(
        "an account that was inserted",
        () => "the audit log began with 0 accounts, but 1 have no line",
        (sql) => sql`INSERT INTO accounts (id, name, created_at) VALUES ('forged', 'forged', 0)`,
      )
    })

    reports(
      "a grant that was entered by hand, with the right hash and balance,",
      ({ account }) =>
        `account ${account}: it was granted 1010 credits, but the audit log has lines for 10`,
      (sql, { account }) =>
        Effect.gen(function* () {
          const [first = assert.fail("no entry")] = yield* statement(account)
          const sums = { amount: credits(1000), balanceAfter: credits(1010) }
          const forged = { ...first, ...sums, sequence: 2 }
          const [{ head } = assert.fail("no balance")] = yield* sql<{ head: string }>`
            SELECT head FROM balances WHERE account_id = ${account}`
          const hash = chainHash(head, forged)
          yield* sql`INSERT INTO entries ${sql.insert({ ...forged, hash })}`
          yield* sql`
            UPDATE balances SET granted = 1010, entries = 2, head = ${hash}
            WHERE account_id = ${account}`
        }),
    )

    describe("a chain that was changed by hand", () => {
      it.effect.each(["at", "actor", "action", "subject", "detail", "row_id", "state", "granted"])(
        "a line with another %s is found",
        (name) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* made
            const { lines } = yield* verify
            const value = name === "at" || name === "granted" ? 12 : "other"
            const problems = yield* problemsAfter(sql`
              UPDATE audit_log SET ${sql.literal(name)} = ${value} WHERE sequence = ${lines - 1}`)
            assert.include(
              problems,
              `the audit log: line ${lines - 1} was changed: its hash does not match`,
            )
          }),
      )

      it.effect("lines that are missing, and a head that was changed, are found", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const log = yield* AuditLog
          for (const subject of ["a", "b", "c"]) {
            yield* log.append({ action: "test.act", subject, detail: {} })
          }
          const { lines } = yield* verify
          const cut = sql`DELETE FROM audit_log WHERE sequence = ${lines}`
          for (const [tamper, problem] of [
            [
              sql`DELETE FROM audit_log WHERE sequence = ${lines - 1}`,
              `line ${lines - 1} is missing: the next line is line ${lines}`,
            ],
            [cut, `line ${lines} is missing: its head counts ${lines} lines`],
            [
              Effect.zipRight(cut, sql`UPDATE audit_head SET entries = ${lines - 1}`),
              `line ${lines - 1} is not the last line that its head records`,
            ],
            [
              sql`UPDATE audit_head SET entries = ${lines - 1}`,
              `line ${lines} exists, but its head counts ${lines - 1} lines`,
            ],
            [sql`DELETE FROM audit_head`, "its head is missing"],
          ] as const) {
            assert.deepStrictEqual(yield* problemsAfter(tamper), [`the audit log: ${problem}`])
          }
        }),
      )
    })

    it.effect("a changed budget is a line of each key that shares it", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const keys = yield* ApiKeys
        const log = yield* AuditLog
        const update = keys.update ?? assert.fail("keys cannot be changed")
        const account = yield* newAccountWith(10)
        const budget = { credits: credits(5), period: "day" } as const
        const { record } = yield* keys.issue({ account, budget })
        const successor = yield* keys.rotate(record.id, Duration.hours(1))
        yield* update(record.id, { label: "bot", budget: { ...budget, credits: credits(7) } })
        const [second, first] = yield* log.list({ limit: 2 })
        assert.deepStrictEqual(
          new Map([first, second].map((line) => [line?.subject, line?.detail["budget"]])),
          new Map([
            [record.id, "7/day"],
            [successor.record.id, "7/day"],
          ]),
        )
        assert.deepStrictEqual((yield* verify).problems, [])
        const problem = "its budget was changed without a line in the audit log"
        assert.sameMembers(
          [...(yield* problemsAfter(sql`UPDATE budgets SET credits = 999`))],
          [record.id, successor.record.id].map((id) => `key ${id}: ${problem}`),
        )
        yield* update(successor.record.id, { budget: null })
        assert.deepStrictEqual((yield* log.list({ limit: 1 }))[0]?.detail["budget"], "none")
        assert.deepStrictEqual((yield* verify).problems, [])
      }),
    )

    it.effect("a correction is a line, and a refused one changes nothing", () =>
      Effect.gen(function* () {
        const ledger = yield* CreditLedger
        const log = yield* AuditLog
        const correct = ledger.correct ?? assert.fail("no corrections")
        const account = yield* newAccountWith(10)
        yield* correct(account, credits(4), "typed twice")
        const [line] = yield* log.list({ limit: 1 })
        assert.deepInclude(line, {
          action: "credits.correct",
          detail: { amount: 4, note: "typed twice", entry: 2 },
        })
        yield* Effect.flip(correct(account, credits(40), "too much"))
        assert.deepStrictEqual((yield* log.list({ limit: 1 }))[0], line)
        assert.deepStrictEqual((yield* verify).problems, [])
      }),
    )

    it.effect("without its line, no change is made", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const keys = yield* ApiKeys
        const accounts = yield* Accounts
        const { account } = yield* made
        const { record } = yield* keys.issue({ account })
        const state = Effect.all([
          accounts.list,
          keys.list(account),
          figures(account),
          sql`SELECT COUNT(*) AS n FROM api_keys`,
        ])
        const before = yield* state
        yield* sql`UPDATE audit_head SET id = id, entries = -1 - entries`
        const changes: ReadonlyArray<Effect.Effect<unknown, unknown, Ports>> = [
          newAccount,
          keys.issue({ account }),
          keys.rotate(record.id, Duration.zero),
          keys.revoke(record.id),
          grant(account, 5),
        ]
        const outcomes = yield* Effect.forEach(changes, (change) => Effect.exit(change))
        assert.deepStrictEqual(outcomes.filter(Exit.isSuccess), [])
        assert.deepStrictEqual(yield* state, before)
        yield* sql`UPDATE audit_head SET entries = -1 - entries`
        yield* grant(account, 5)
        assert.deepStrictEqual((yield* verify).problems, [])
      }),
    )

    it.effect("a grant without its line fails alone, and charges of the same commit do not", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* newAccountWith(10)
        yield* sql`UPDATE audit_head SET entries = -1 - entries`
        const outcomes = yield* Effect.forEach(
          [charge(account, 1), grant(account, 5), charge(account, 2)],
          (change) => Effect.exit(change),
          { concurrency: "unbounded" },
        )
        yield* sql`UPDATE audit_head SET entries = -1 - entries`
        assert.deepStrictEqual(outcomes.map(Exit.isSuccess), [true, false, true])
        const { charged, granted } = yield* figures(account)
        assert.deepStrictEqual([Number(granted), Number(charged)], [10, 3])
      }),
    )
  })

for (const [name, store] of sqlStores) suite(name, store)

for (const [name, newStore] of ofRun([
  ["SQLite", Effect.map(newFile, sqliteFile)],
  ["PostgreSQL", Effect.map(temporaryDatabase, (url) => postgresDatabase(url))],
])) {
  describe(`two processes on one database in ${name}`, () => {
    it.scopedLive("the acts of both make one chain", () =>
      Effect.gen(function* () {
        const store = yield* newStore
        yield* Effect.scoped(Layer.build(Layer.fresh(store)))
        const work = Effect.gen(function* () {
          const keys = yield* ApiKeys
          yield* Effect.forEach(
            Array(10).keys(),
            () =>
              Effect.gen(function* () {
                const account = yield* newAccountWith(5)
                const { record } = yield* keys.issue({ account })
                yield* Effect.all([grant(account, 1), keys.revoke(record.id)], {
                  concurrency: "unbounded",
                })
              }),
            { concurrency: 5, discard: true },
          )
        })
        yield* Effect.all(
          [1, 2].map(() => Effect.provide(work, Layer.fresh(store))),
          {
            concurrency: "unbounded",
          },
        )
        const verified = yield* Effect.provide(verify, Layer.fresh(store))
        assert.deepStrictEqual(verified, { lines: 101, problems: [] })
      }),
    )
  })
}
