import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { AccountExists, AccountName, AccountNotFound, Accounts } from "../src/Account.ts"
import { newAccount } from "../scripts/support/accounts.ts"
import { type Ports, sqlStores, stores } from "./support/Stores.ts"

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
      "creating a second account with the same name fails and leaves the first account unchanged",
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

    it.effect("account names that differ only in letter case belong to different accounts", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const lower = yield* accounts.create(named("case"))
        const upper = yield* accounts.create(named("CASE"))
        assert.notStrictEqual(lower.id, upper.id)
        assert.deepStrictEqual(yield* accounts.find("CASE"), upper)
      }),
    )

    it.effect("an account name in any writing system is stored unchanged", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const account = yield* accounts.create(named("Zoë.王+1@例"))
        assert.deepStrictEqual(yield* accounts.find("Zoë.王+1@例"), account)
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

    it.effect("the list of accounts has every account, sorted by name", () =>
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

for (const [name, store] of stores) suite(name, store)

for (const [name, store] of sqlStores) {
  layer(store)(`Accounts in ${name}, from an earlier version`, (it) => {
    it.effect("an account is found by its id even if another account has that id as its name", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* Accounts
        const [victim, impostor] = [yield* newAccount, yield* newAccount]
        yield* sql`UPDATE accounts SET name = ${victim.id} WHERE id = ${impostor.id}`
        assert.deepStrictEqual(yield* accounts.find(victim.id), victim)
        assert.deepStrictEqual(yield* accounts.find(victim.name), victim)
        const found = yield* accounts.find(impostor.id)
        assert.deepStrictEqual({ ...found }, { id: impostor.id, name: victim.id })
        assert.deepInclude(yield* accounts.list, found)
      }),
    )
  })
}

describe("the format of an account name", () => {
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
