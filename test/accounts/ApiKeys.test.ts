import { assert, describe, it, layer } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { AccountId, AccountName, Accounts } from "../../src/accounts/Account.ts"
import * as ApiKey from "../../src/accounts/ApiKey.ts"
import { ApiKeyNotFound, ApiKeys, InvalidApiKey } from "../../src/accounts/ApiKeys.ts"
import type * as Scopes from "../../src/accounts/Scope.ts"
import { failWithStoreFailure, StoreFailure } from "../../src/database/StoreFailure.ts"
import { newAccount } from "../../scripts/support/accounts.ts"
import {
  hasPostgres,
  type Ports,
  postgresDatabase,
  stores,
  temporaryDatabase,
  untilAnotherWaits,
} from "../support/Stores.ts"

const issued = (
  options: {
    readonly label?: string
    readonly expiresIn?: Duration.Duration
    readonly scopes?: ReadonlyArray<Scopes.Scope>
  } = {},
) =>
  Effect.gen(function* () {
    const { id: account } = yield* newAccount
    return { account, ...(yield* (yield* ApiKeys).issue({ account, ...options })) }
  })

/** Returns true when the key authenticates. Fails the test on any error but InvalidApiKey. */
const admits = (key: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const outcome = yield* Effect.either((yield* ApiKeys).authenticate(key))
    if (Either.isLeft(outcome)) assert.instanceOf(outcome.left, InvalidApiKey)
    return Either.isRight(outcome)
  })

/** Replaces the character at `index` by another one. */
const mistyped = (text: string, index: number) =>
  text.slice(0, index) + (text[index] === "x" ? "y" : "x") + text.slice(index + 1)

const terms = ApiKey.terms({ account: AccountId.make("a") })

const suite = (name: string, store: Layer.Layer<Ports, unknown>) =>
  layer(store)(`ApiKeys in ${name}`, (it) => {
    describe("an API key", () => {
      it.effect("the record of an API key does not contain the secret", () =>
        Effect.gen(function* () {
          yield* TestClock.adjust("1 second")
          const { account, key, record } = yield* issued({
            label: "spreadsheet",
            expiresIn: Duration.days(90),
          })
          const text = Redacted.value(key)
          assert.strictEqual(record.accountId, account)
          assert.strictEqual(record.label, "spreadsheet")
          assert.strictEqual(record.start, text.slice(0, 9))
          const lifetime = (record.expiresAt ?? 0) - record.createdAt
          assert.strictEqual(lifetime, Duration.toMillis("90 days"))
          assert.isNull(record.revokedAt)
          assert.notInclude(JSON.stringify(record), text.slice(9))
          assert.notInclude(`${String(key)} ${JSON.stringify({ key })}`, text.slice(9))
        }),
      )

      it.effect("an API key expires at the end of its lifetime, to the millisecond", () =>
        Effect.gen(function* () {
          const { key } = yield* issued({ expiresIn: Duration.days(90) })
          yield* TestClock.adjust(Duration.millis(Duration.toMillis("90 days") - 1))
          assert.isTrue(yield* admits(key))
          yield* TestClock.adjust("1 millis")
          assert.isFalse(yield* admits(key))
        }),
      )
    })

    describe("an invalid API key", () => {
      it.effect("an API key that has the right format but was never issued is rejected", () =>
        Effect.gen(function* () {
          const { key } = ApiKey.issue(terms, 0)
          assert.isTrue(ApiKey.isWellFormed(key))
          assert.isFalse(yield* admits(key))
        }),
      )

      it.effect("an API key with a typo, a missing part or an addition is rejected", () =>
        Effect.gen(function* () {
          const { key, record } = yield* issued()
          const text = Redacted.value(key)
          const wrong = [
            record.id,
            record.start,
            ApiKey.hash(key),
            "",
            "am_",
            text.slice(0, -1),
            text.slice(1),
            `${text}0`,
            ` ${text}`,
            `${text}\n`,
            text.toLowerCase(),
            text.replace("am_", "AM_"),
            "' OR 1=1 --",
            ...[0, 3, 9, 30, text.length - 1].map((index) => mistyped(text, index)),
          ]
          for (const one of wrong) assert.isFalse(yield* admits(Redacted.make(one)), one)
        }),
      )
    })

    describe("revoking an API key", () => {
      it.effect("revoking an API key ends it at once, but not the account's other keys", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { account, key, record } = yield* issued()
          const other = yield* keys.issue({ account })
          assert.isNotNull((yield* keys.revoke(record.id)).revokedAt)
          assert.isFalse(yield* admits(key))
          assert.isTrue(yield* admits(other.key))
        }),
      )

      it.effect("revoking an API key twice keeps the first revocation time", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { record } = yield* issued()
          const first = yield* keys.revoke(record.id)
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(yield* keys.revoke(record.id), first)
        }),
      )
    })

    describe("rotating an API key", () => {
      it.effect("rotating an API key without a grace period ends the old key immediately", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const former = yield* issued({ label: "crawler" })
          const successor = yield* keys.rotate(former.record.id, Duration.zero)
          assert.isFalse(yield* admits(former.key))
          assert.strictEqual((yield* keys.authenticate(successor.key)).accountId, former.account)
          assert.notStrictEqual(successor.record.id, former.record.id)
          assert.strictEqual(successor.record.label, "crawler")
          assert.isNull(successor.record.expiresAt)
        }),
      )

      it.effect("a rotated API key is valid until the grace period ends", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const former = yield* issued()
          const successor = yield* keys.rotate(former.record.id, Duration.hours(24))
          yield* TestClock.adjust(Duration.millis(Duration.toMillis("24 hours") - 1))
          assert.isTrue(yield* admits(former.key))
          assert.isTrue(yield* admits(successor.key))
          yield* TestClock.adjust("1 millis")
          assert.isFalse(yield* admits(former.key))
          assert.isTrue(yield* admits(successor.key))
        }),
      )

      it.effect("a rotated API key's successor has the full lifetime of the old key", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const former = yield* issued({ expiresIn: Duration.days(90) })
          yield* TestClock.adjust("80 days")
          const successor = yield* keys.rotate(former.record.id, Duration.zero)
          yield* TestClock.adjust(Duration.millis(Duration.toMillis("90 days") - 1))
          assert.isTrue(yield* admits(successor.key))
          yield* TestClock.adjust("1 millis")
          assert.isFalse(yield* admits(successor.key))
        }),
      )

      it.effect("a grace period never extends the lifetime of the old API key", () =>
        Effect.gen(function* () {
          const former = yield* issued({ expiresIn: Duration.hours(1) })
          yield* (yield* ApiKeys).rotate(former.record.id, Duration.hours(24))
          yield* TestClock.adjust("1 hour")
          assert.isFalse(yield* admits(former.key))
        }),
      )

      it.effect("a revoked, expired or unknown API key can be neither rotated nor changed", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const revoked = yield* issued()
          yield* keys.revoke(revoked.record.id)
          const expired = yield* issued({ expiresIn: Duration.hours(1) })
          yield* TestClock.adjust("1 hour")
          for (const id of [revoked.record.id, expired.record.id, ApiKey.ApiKeyId.make("none")]) {
            for (const act of [
              keys.rotate(id, Duration.hours(24)),
              keys.update(id, { label: "no" }),
            ]) {
              const error = yield* Effect.flip<unknown, unknown, never>(act)
              assert.instanceOf(error, ApiKeyNotFound)
              assert.strictEqual(error.id, id)
            }
          }
          const [kept, ...others] = yield* keys.list(revoked.account)
          assert.deepStrictEqual([kept?.label, others], [null, []])
          assert.isFalse(yield* admits(expired.key))
        }),
      )

      it.effect(
        "an expiry time that is too large to store is refused, and changes no API key",
        () =>
          Effect.gen(function* () {
            const keys = yield* ApiKeys
            const { account, key, record } = yield* issued()
            const grace = Duration.days(200_000_000)
            assert.isTrue(Exit.isFailure(yield* Effect.exit(keys.rotate(record.id, grace))))
            const issue = keys.issue({ account, expiresIn: Duration.days(100_000_000) })
            assert.isTrue(Exit.isFailure(yield* Effect.exit(issue)))
            assert.deepStrictEqual(yield* keys.list(account), [record])
            assert.isTrue(yield* admits(key))
          }),
      )
    })

    describe("scopes and labels of API keys", () => {
      it.effect(
        "an API key created without scopes gets both of them, and a rotation keeps the scopes",
        () =>
          Effect.gen(function* () {
            const keys = yield* ApiKeys
            assert.deepStrictEqual((yield* issued()).record.scopes, ["check", "read"])
            const { key, record } = yield* issued({ scopes: ["read"] })
            assert.deepStrictEqual((yield* keys.authenticate(key)).scopes, ["read"])
            const successor = yield* keys.rotate(record.id, Duration.zero)
            assert.deepStrictEqual((yield* keys.authenticate(successor.key)).scopes, ["read"])
          }),
      )

      it.effect("changing an API key changes only the given fields", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { account, key, record } = yield* issued({
            label: "crawler",
            expiresIn: Duration.days(1),
          })
          const read = { ...record, scopes: ["read" as const] }
          assert.deepStrictEqual(yield* keys.update(record.id, { scopes: ["read"] }), read)
          assert.deepStrictEqual(yield* keys.update(record.id, {}), read)
          const named = { ...read, label: "tracker" }
          assert.deepStrictEqual(yield* keys.update(record.id, { label: "tracker" }), named)
          assert.deepStrictEqual(yield* keys.list(account), [named])
          const both = { label: null, scopes: ["check" as const, "read" as const] }
          assert.deepStrictEqual(yield* keys.update(record.id, both), { ...named, ...both })
          assert.deepStrictEqual((yield* keys.authenticate(key)).scopes, both.scopes)
        }),
      )

      it.effect(
        "a key of a suspended account is authenticated, with the time of the suspension",
        () =>
          Effect.gen(function* () {
            const accounts = yield* Accounts
            const keys = yield* ApiKeys
            const { account, key } = yield* issued()
            const { name } = yield* accounts.find(account)
            const authenticated = yield* keys.authenticate(key)
            assert.deepInclude(authenticated, { accountName: name, accountSuspendedAt: null })
            const { suspendedAt } = yield* accounts.suspend(account)
            assert.isNumber(suspendedAt)
            assert.strictEqual((yield* keys.authenticate(key)).accountSuspendedAt, suspendedAt)
          }),
      )
    })

    describe("listing an account's keys", () => {
      it.effect(
        "API keys are listed oldest first, including revoked keys, without their secrets",
        () =>
          Effect.gen(function* () {
            const keys = yield* ApiKeys
            const first = yield* issued({ label: "first" })
            yield* issued({ label: "another account's" })
            const { account } = first
            const second = yield* keys.issue({ account, label: "second" })
            yield* TestClock.adjust("1 second")
            const third = yield* keys.rotate(second.record.id, Duration.zero)
            yield* keys.revoke(first.record.id)

            const listed = yield* keys.list(account)
            const all = [first, second, third]
            assert.deepStrictEqual(
              listed.map(({ id }) => id),
              all.map(({ record }) => record.id),
            )
            assert.deepStrictEqual(
              listed.map(({ label }) => label),
              ["first", "second", "second"],
            )
            assert.deepStrictEqual(listed.at(2), third.record)
            for (const { key } of all) {
              assert.notInclude(JSON.stringify(listed), Redacted.value(key).slice(9))
              assert.notInclude(JSON.stringify(listed), ApiKey.hash(key))
            }
          }),
      )
    })
  })

for (const [name, store] of stores) {
  suite(name, store)

  layer(store)(`the search for API keys in ${name}`, (it) => {
    it.effect(
      "API keys can be found by account, label or first characters, newest first, page by page",
      () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const keys = yield* ApiKeys
          const { id: account } = yield* accounts.create(AccountName.make("Acme"))
          const first = yield* keys.issue({ account, label: "Blog" })
          const { account: other, ...second } = yield* issued({ label: "acme's blog" })
          const third = yield* keys.issue({ account })
          yield* keys.revoke(first.record.id)
          yield* accounts.suspend(other)
          const found = (text?: string, limit = 10, before?: string) =>
            Effect.map(keys.search({ text, limit, before }), (rows) => rows.map(({ id }) => id))
          const [one, two, three] = [first.record.id, second.record.id, third.record.id]

          assert.deepStrictEqual(yield* found(), [three, two, one])
          assert.deepStrictEqual(yield* found("aCME"), [three, two, one])
          assert.deepStrictEqual(yield* found("bLOG"), [two, one])
          assert.deepStrictEqual(yield* found("%"), [])
          assert.deepStrictEqual(yield* found(second.record.start), [two])
          assert.deepStrictEqual(yield* found(Redacted.value(third.key)), [three])
          assert.deepStrictEqual(yield* found("am"), [])
          assert.deepStrictEqual(yield* found("acme", 2), [three, two])
          assert.deepStrictEqual(yield* found("acme", 2, two), [one])

          const [row] = yield* keys.search({ text: second.record.start, limit: 1 })
          const { name, suspendedAt } = yield* accounts.find(other)
          const owner = { accountName: name, accountSuspendedAt: suspendedAt }
          assert.deepStrictEqual(row, { ...second.record, ...owner })
        }),
    )
  })
}

for (const [name, store] of stores) {
  layer(store)(`the api_keys table in ${name}`, (it) => {
    it.effect(
      "an API key whose row is unreadable is reported, admits nobody and can be revoked",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const keys = yield* ApiKeys
          const { account, key } = yield* issued()
          const bad = yield* keys.issue({ account })
          const { id } = bad.record
          yield* sql`UPDATE api_keys SET expires_at = ${86_400_000_000_000_000} WHERE id = ${id}`

          for (const read of [Effect.asVoid(keys.list(account)), keys.authenticate(bad.key)]) {
            const error = yield* Effect.flip(failWithStoreFailure<unknown, unknown, never>(read))
            assert.instanceOf(error, StoreFailure)
          }
          const unreadable = yield* keys.unreadable
          assert.deepStrictEqual(
            unreadable.map((key) => key.id),
            [id],
          )
          assert.match(unreadable[0]?.problem ?? "", /^expiresAt: /)
          assert.isTrue(yield* admits(key))

          assert.isNumber((yield* keys.revoke(id)).revokedAt)
          yield* sql`UPDATE api_keys SET expires_at = NULL WHERE id = ${id}`
          assert.isFalse(yield* admits(bad.key))
        }),
    )

    it.effect("a malformed API key is rejected without a database query", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key } = yield* issued()
        yield* sql`DROP TABLE api_keys`
        assert.isFalse(yield* admits(Redacted.make(mistyped(Redacted.value(key), 30))))
        assert.strictEqual((yield* Effect.exit(admits(key)))._tag, "Failure")
      }),
    )
  })
}

describe.runIf(hasPostgres)("API keys in PostgreSQL that two processes use", () => {
  it.scopedLive("two processes can save the last-use times of the same API keys concurrently", () =>
    Effect.gen(function* () {
      const store = postgresDatabase(yield* temporaryDatabase)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const first = yield* issued()
        const second = yield* issued()
        const other = yield* Scope.make()
        const inOther = Context.get(yield* Layer.buildWithScope(Layer.fresh(store), other), ApiKeys)
        yield* inOther.authenticate(second.key)
        yield* inOther.authenticate(first.key)

        const save = ({ record }: ApiKey.IssuedKey) =>
          sql`UPDATE api_keys SET last_used_at = 1 WHERE id = ${record.id}`
        const closing = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* save(first)
            // A process saves the times of last use when it ends.
            const closing = yield* Effect.fork(Scope.close(other, Exit.void))
            yield* untilAnotherWaits
            yield* save(second)
            return closing
          }),
        )
        yield* Fiber.join(closing)
        const saved = yield* sql`SELECT id FROM api_keys WHERE last_used_at > 1`
        assert.lengthOf(saved, 2)
      }).pipe(Effect.provide(store))
    }),
  )

  it.scopedLive("an API key that two processes rotate at the same time is rotated once", () =>
    Effect.gen(function* () {
      const store = postgresDatabase(yield* temporaryDatabase)
      const inOther = Context.get(yield* Layer.build(Layer.fresh(store)), ApiKeys)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const keys = yield* ApiKeys
        const { account, record } = yield* issued()
        const isRotated = yield* Deferred.make<void>()
        const second = yield* Deferred.await(isRotated).pipe(
          Effect.zipRight(Effect.flip(inOther.rotate(record.id, Duration.zero))),
          Effect.fork,
        )
        yield* keys
          .rotate(record.id, Duration.zero)
          .pipe(
            Effect.zipLeft(Deferred.succeed(isRotated, undefined)),
            Effect.zipLeft(untilAnotherWaits),
            sql.withTransaction,
          )
        assert.instanceOf(yield* Fiber.join(second), ApiKeyNotFound)
        assert.lengthOf(yield* keys.list(account), 2)
      }).pipe(Effect.provide(store))
    }),
  )
})

describe("the format of an API key", () => {
  const fresh = () => Redacted.value(ApiKey.issue(terms, 0).key)

  it("an API key is am_ followed by 49 letters and digits, and each key is unique", () => {
    const keys = Array.from({ length: 100 }, fresh)
    for (const key of keys) assert.match(key, /^am_[0-9A-Za-z]{49}$/)
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it.prop(
    "the checksum of an API key detects any mistyped character and any two swapped neighbours",
    { index: fc.integer({ min: 0, max: 51 }) },
    ({ index }) => {
      const key = fresh()
      const swapped =
        key.slice(0, index) + (key[index + 1] ?? "") + key[index] + key.slice(index + 2)
      assert.isTrue(ApiKey.isWellFormed(Redacted.make(key)))
      assert.isFalse(ApiKey.isWellFormed(Redacted.make(mistyped(key, index))))
      if (swapped !== key) assert.isFalse(ApiKey.isWellFormed(Redacted.make(swapped)))
    },
  )
})
