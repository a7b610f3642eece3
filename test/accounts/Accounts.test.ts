import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import {
  AccountExists,
  AccountId,
  AccountName,
  AccountNotFound,
  Accounts,
} from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { newAccount } from "../../scripts/support/accounts.ts"
import { type Ports, stores } from "../support/Stores.ts"

const named = (name: string) => AccountName.make(name)

const suite = (name: string, store: Layer.Layer<Ports, unknown>) =>
  layer(store)(`Accounts in ${name}`, (it) => {
    it.effect("a new account is found by its name and by its id", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const account = yield* accounts.create(named("found"))
        assert.strictEqual(account.name, "found")
        assert.deepStrictEqual(yield* accounts.find("found"), account)
        assert.deepStrictEqual(yield* accounts.find(account.id), account)
      }),
    )

    it.effect(
      "creating an account under a taken name fails, and leaves the existing account unchanged",
      () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const first = yield* accounts.create(named("taken"))
          const error = yield* Effect.flip(accounts.create(named("taken")))
          assert.instanceOf(error, AccountExists)
          assert.strictEqual(error.name, "taken")
          assert.deepStrictEqual(yield* accounts.find("taken"), first)
        }),
    )

    it.effect("only one of many concurrent creations of the same account name succeeds", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const asked = yield* Effect.forEach(
          Array(10).fill(named("wanted")),
          (name) => Effect.either(accounts.create(name)),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(asked.filter(Either.isRight).length, 1)
      }),
    )

    it.effect.each(["nobody", "", "'; DROP TABLE accounts; --", "%"])(
      "an account with the unknown name %j is not found",
      (name) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip((yield* Accounts).find(name))
          assert.instanceOf(error, AccountNotFound)
          assert.strictEqual(error.account, name)
          assert.include(error.message, "authority account list")
        }),
    )

    it.effect(
      "a suspended account keeps the time of its first suspension until it is resumed",
      () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const account = yield* newAccount
          assert.isNull(account.suspendedAt)
          yield* TestClock.setTime(1000)
          const suspended = yield* accounts.suspend(account.id)
          assert.deepStrictEqual({ ...suspended }, { ...account, suspendedAt: 1000 })
          yield* TestClock.setTime(2000)
          assert.deepStrictEqual(yield* accounts.suspend(account.id), suspended)
          assert.deepStrictEqual(yield* accounts.find(account.name), suspended)
          assert.deepStrictEqual(yield* accounts.resume(account.id), account)
          assert.deepStrictEqual(yield* accounts.resume(account.id), account)
          assert.deepStrictEqual(yield* accounts.find(account.id), account)
        }),
    )

    it.effect("suspending or resuming an unknown account fails", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const id = AccountId.make("none")
        assert.instanceOf(yield* Effect.flip(accounts.suspend(id)), AccountNotFound)
        assert.instanceOf(yield* Effect.flip(accounts.resume(id)), AccountNotFound)
      }),
    )

    it.effect("the list of accounts contains every account, sorted by name", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const created = yield* Effect.forEach(["list-c", "list-a", "list-b"], (name) =>
          accounts.create(named(name)),
        )
        const listed = (yield* accounts.list).filter(({ name }) => name.startsWith("list-"))
        const [c, a, b] = created
        assert.deepStrictEqual(listed, [a, b, c])
      }),
    )
  })

for (const [name, store] of stores) {
  suite(name, store)

  layer(store)(`the search for accounts in ${name}`, (it) => {
    const named = (name: string) =>
      Effect.flatMap(Accounts, (accounts) => Effect.orDie(accounts.create(AccountName.make(name))))

    const found = (text?: string) =>
      Effect.flatMap(Accounts, (accounts) =>
        Effect.map(accounts.search({ text, limit: 100 }), (rows) => rows.map(({ name }) => name)),
      )

    it.effect(
      "accounts can be found by part of their name, by a key's label or by the start of a key",
      () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const acme = yield* named("Acme.example")
          yield* named("a_b")
          yield* named("a-b")
          yield* named("ÉCOLE")
          const { key, record } = yield* keys.issue({
            account: acme.id,
            label: "Rank 100% tracker",
          })
          yield* keys.issue({ account: acme.id, label: "rank of the blog" })

          assert.deepStrictEqual(yield* found(), ["ÉCOLE", "a-b", "a_b", "Acme.example"])
          assert.deepStrictEqual(yield* found("aCmE"), ["Acme.example"])
          assert.deepStrictEqual(yield* found("RANK"), ["Acme.example"])
          assert.deepStrictEqual(yield* found("0% T"), ["Acme.example"])
          assert.deepStrictEqual(yield* found("0_"), [])
          assert.deepStrictEqual(yield* found("A_"), ["a_b"])
          assert.deepStrictEqual(yield* found("!"), [])
          assert.deepStrictEqual(yield* found("Écol"), ["ÉCOLE"])
          assert.deepStrictEqual(yield* found("école"), [])
          assert.deepStrictEqual(yield* found(record.start.slice(0, 5)), ["Acme.example"])
          assert.deepStrictEqual(yield* found(Redacted.value(key)), ["Acme.example"])
          assert.deepStrictEqual(yield* found("am_"), [])
          assert.deepStrictEqual(yield* found("'; DROP TABLE accounts; --"), [])
        }),
    )

    it.effect("the pages of an account search contain each account once, newest first", () =>
      Effect.gen(function* () {
        yield* Effect.forEach(["page-1", "page-2", "page-3"], named)
        const accounts = yield* Accounts
        const page = (before?: string) => accounts.search({ text: "page-", limit: 2, before })
        const first = yield* page()
        const second = yield* page(first.at(-1)?.id)
        const names = [first, second].map((rows) => rows.map(({ name }) => name))
        assert.deepStrictEqual(names, [["page-3", "page-2"], ["page-1"]])
      }),
    )
  })
}

for (const [name, store] of stores) {
  layer(store)(`Accounts in ${name}, from an earlier version`, (it) => {
    it.effect("an account is found by its id even if another account is named like that id", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* Accounts
        const [victim, impostor] = [yield* newAccount, yield* newAccount]
        yield* sql`UPDATE accounts SET name = ${victim.id} WHERE id = ${impostor.id}`
        assert.deepStrictEqual(yield* accounts.find(victim.id), victim)
        assert.deepStrictEqual(yield* accounts.find(victim.name), victim)
        const found = yield* accounts.find(impostor.id)
        assert.deepStrictEqual(
          { ...found },
          { id: impostor.id, name: victim.id, suspendedAt: null },
        )
        assert.deepInclude(yield* accounts.list, found)
      }),
    )
  })
}

describe("the rules for an account name", () => {
  const isName = Schema.is(AccountName)

  it.each(["a", "A1", "9", "acme.com", "ops@acme.com", "a_b-c+d", "Zoë", "王", "a".repeat(100)])(
    "the account name %j is valid",
    (name) => {
      assert.isTrue(isName(name))
    },
  )

  it.each(["018f3c1e-7b5a-7c3d-9e2f-0123456789ab", "018F3C1E-7B5A-7C3D-9E2F-0123456789AB"])(
    "the account name %j is refused because it looks like an id",
    (name) => {
      assert.isFalse(isName(name))
    },
  )

  it.each(["", " ", "a b", "-a", ".a", "--json", "a/b", "a\n", "a\0", "a'", "a".repeat(101)])(
    "the account name %j is refused",
    (name) => {
      assert.isFalse(isName(name))
    },
  )
})
