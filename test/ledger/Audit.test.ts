import { assert, describe, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { AccountId } from "../../src/accounts/Account.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { chainHash, genesisHash, type StatementEntry } from "../../src/ledger/LedgerEntry.ts"
import { newAccount, newAccountWith } from "../../scripts/support/accounts.ts"
import {
  charge,
  credits,
  grant,
  hold,
  problemsOf,
  statement,
} from "../../scripts/support/ledger.ts"
import { type Ports, stores } from "../support/Stores.ts"

/** An account with four entries (grant 100, charge 30, charge 20, grant 5) and an open hold of 10. */
const books = Effect.gen(function* () {
  const { id } = yield* newAccount
  yield* grant(id, 100, "invoice 7")
  yield* charge(id, 30)
  yield* charge(id, 20)
  yield* grant(id, 5)
  yield* hold(id, 10)
  return id
})

/** Changes the database directly, without the ledger. */
type Tampering = (
  sql: SqlClient.SqlClient,
  account: AccountId,
) => Effect.Effect<unknown, unknown, Ports>

const suite = (name: string, store: Layer.Layer<Ports | SqlClient.SqlClient, unknown>) =>
  layer(store)(`audit in ${name}`, (it) => {
    const reports = (what: string, problem: string, tamper: Tampering) =>
      it.effect(what, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* books
          const honest = yield* newAccountWith(10)
          yield* tamper(sql, account)
          const { problems } = yield* (yield* CreditLedger).verify
          const of = (one: AccountId) => problems.filter((problem) => problem.includes(one))
          const [found, ...others] = of(account)
          assert.include(found, `account ${account}: ${problem}`)
          assert.deepStrictEqual(others, [])
          assert.deepStrictEqual(of(honest), [])
        }),
      )

    it.effect(
      "the audit of an unchanged ledger finds no problem, and counts the accounts and the entries",
      () =>
        Effect.gen(function* () {
          const { verify } = yield* CreditLedger
          const before = yield* verify
          yield* books
          const after = yield* verify
          assert.deepStrictEqual(after, {
            accounts: before.accounts + 1,
            entries: before.entries + 4,
            problems: [],
          })
        }),
    )

    describe("the audit of the entries", () => {
      const changed = "entry 2 was changed: its hash does not match"
      const second = (sql: SqlClient.SqlClient, account: AccountId) =>
        sql`account_id = ${account} AND sequence = 2`

      reports(
        "the audit reports an entry whose amount was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET amount = 29 WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose balance was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET balance_after = 71 WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose kind was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET kind = 'grant' WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose request id was changed",
        changed,
        (sql, account) =>
          sql`UPDATE entries SET request_id = ${`not ${account}`} WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose number of checks was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET urls = 31 WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose note was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET note = 'a gift' WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose time was changed",
        changed,
        (sql, account) => sql`UPDATE entries SET at = at + 1 WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry whose hash was changed",
        changed,
        (sql, account) =>
          sql`UPDATE entries SET hash = ${"0".repeat(64)} WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry that was moved to another account",
        "entry 2 is missing: the next entry is entry 3",
        (sql, account) =>
          Effect.flatMap(
            newAccount,
            ({ id }) => sql`UPDATE entries SET account_id = ${id} WHERE ${second(sql, account)}`,
          ),
      )
      reports(
        "the audit reports an entry that was deleted in the middle of the statement",
        "entry 2 is missing: the next entry is entry 3",
        (sql, account) => sql`DELETE FROM entries WHERE ${second(sql, account)}`,
      )
      reports(
        "the audit reports an entry that was deleted at the start of the statement",
        "entry 1 is missing: the next entry is entry 2",
        (sql, account) => sql`DELETE FROM entries WHERE account_id = ${account} AND sequence = 1`,
      )
      reports(
        "the audit reports an entry that was deleted at the end of the statement",
        "the balance records 105 granted and 50 charged credits in 4 entries with",
        (sql, account) => sql`DELETE FROM entries WHERE account_id = ${account} AND sequence = 4`,
      )
      reports(
        "the audit reports that all entries were deleted",
        "the balance records 105 granted and 50 charged credits in 4 entries with",
        (sql, account) => sql`DELETE FROM entries WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports the first wrong entry when several entries were changed",
        changed,
        (sql, account) =>
          sql`UPDATE entries SET note = 'a gift' WHERE account_id = ${account} AND sequence >= 2`,
      )

      /** Changes the second entry and gives it a matching hash. */
      const forge = (
        sql: SqlClient.SqlClient,
        account: AccountId,
        forgery: (entry: StatementEntry) => StatementEntry,
      ) =>
        Effect.gen(function* () {
          const [first = assert.fail("no entry"), original] = yield* statement(account)
          const forged = forgery(original ?? assert.fail("no second entry"))
          const hash = chainHash(chainHash(genesisHash, first), forged)
          yield* sql`
            UPDATE entries SET ${sql.update({ ...forged, hash })} WHERE ${second(sql, account)}`
        })

      reports(
        "the audit reports an entry whose amount was changed together with its hash",
        "entry 2 records a balance of 70, but the entries add up to 71",
        (sql, account) => forge(sql, account, (entry) => ({ ...entry, amount: credits(29) })),
      )
      reports(
        "the audit reports the entry that follows an entry with changed amount, balance and hash",
        "entry 3 was changed: its hash does not match",
        (sql, account) =>
          forge(sql, account, (entry) => ({
            ...entry,
            amount: credits(29),
            balanceAfter: credits(71),
          })),
      )
    })

    describe("the audit of the balance", () => {
      reports(
        "the audit reports a balance whose granted credits were changed",
        "the balance records 1105 granted and 50 charged credits in 4 entries with",
        (sql, account) =>
          sql`UPDATE balances SET granted = granted + 1000 WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports a balance whose charged credits were changed",
        "the balance records 105 granted and 0 charged credits in 4 entries with",
        (sql, account) => sql`UPDATE balances SET charged = 0 WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports a balance whose hash differs from the hash of the last entry",
        "the balance records 105 granted and 50 charged credits in 4 entries with",
        (sql, account) => sql`UPDATE balances SET head = 'other' WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports a balance that counts fewer entries than the statement has",
        "the balance records 105 granted and 50 charged credits in 3 entries with",
        (sql, account) => sql`UPDATE balances SET entries = 3 WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports a balance that counts more entries than the statement has",
        "the balance records 105 granted and 50 charged credits in 5 entries with",
        (sql, account) => sql`UPDATE balances SET entries = 5 WHERE account_id = ${account}`,
      )
    })

    describe("the audit of held credits and open holds", () => {
      reports(
        "the audit reports held credits that were changed",
        "the balance records 0 held credits, but the open holds add up to 10",
        (sql, account) => sql`UPDATE balances SET held = 0 WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports that an open hold was deleted",
        "the balance records 10 held credits, but the open holds add up to 0",
        (sql, account) => sql`DELETE FROM holds WHERE account_id = ${account}`,
      )
      reports(
        "the audit reports that the amount of an open hold was changed",
        "the balance records 10 held credits, but the open holds add up to 9",
        (sql, account) => sql`UPDATE holds SET amount = 9 WHERE account_id = ${account}`,
      )
    })

    it.effect("the audit names an entry that cannot be read", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* books
        yield* sql`
          UPDATE entries SET amount = ${2 ** 53} WHERE account_id = ${account} AND sequence = 2`
        assert.deepStrictEqual(yield* problemsOf(account), ["entry 2 cannot be read"])
      }),
    )

    it.effect("the audit names a request that is charged twice", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* books
        const [, , third] = yield* statement(account)
        const { requestId } = third ?? assert.fail("no third entry")
        const drop = sql.onDialectOrElse({
          pg: () => sql`ALTER TABLE entries DROP CONSTRAINT entries_request_id_key`,
          orElse: () => sql`DROP INDEX entries_by_request`,
        })
        // The transaction fails, which restores the unique index.
        const problems = yield* Effect.gen(function* () {
          yield* drop
          yield* sql`
            UPDATE entries SET request_id = ${requestId}
            WHERE account_id = ${account} AND sequence = 2`
          const { problems } = yield* (yield* CreditLedger).verify
          return yield* Effect.fail(problems)
        }).pipe(sql.withTransaction, Effect.flip, Effect.map(String))
        assert.include(problems, `the request ${requestId} is charged more than once`)
      }),
    )

    it.effect("the audit reports both wrong entries and wrong holds", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* books
        yield* sql`DELETE FROM entries WHERE account_id = ${account} AND sequence = 3`
        yield* sql`DELETE FROM holds WHERE account_id = ${account}`
        assert.deepStrictEqual(yield* problemsOf(account), [
          "entry 3 is missing: the next entry is entry 4",
          "the balance records 10 held credits, but the open holds add up to 0",
        ])
      }),
    )
  })

for (const [name, store] of stores) suite(name, store)
