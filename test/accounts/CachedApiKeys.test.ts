import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { type AccountId, AccountName, Accounts } from "../../src/accounts/Account.ts"
import type { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { type AccountKey, ApiKeys, InvalidApiKey } from "../../src/accounts/ApiKeys.ts"
import * as CachedApiKeys from "../../src/accounts/CachedApiKeys.ts"
import { Deadline } from "../../src/check/Deadline.ts"
import * as memory from "../support/memory.ts"
import { StoreTimeout } from "../../src/ledger/StoreTimeout.ts"
import { settable } from "../support/SettableClock.ts"

/**
 * Two processes on one store: `local` has a cache, and `remote` has none. `queries` counts the
 * queries of the cache to the store.
 */
const processes = (before: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const stores = yield* Layer.build(Layer.provideMerge(memory.apiKeys, memory.accounts))
    const remote = Context.get(stores, ApiKeys)
    const accounts = Context.get(stores, Accounts)
    const { id: account } = yield* Effect.orDie(accounts.create(AccountName.make("acme")))
    let queries = 0
    const counted = ApiKeys.of({
      ...remote,
      authenticate: (key) =>
        Effect.tap(remote.authenticate(key), () => {
          queries++
          return before
        }),
    })
    const given = Context.add(stores, ApiKeys, counted)
    const cached = yield* Layer.build(
      Layer.provide(CachedApiKeys.layer, Layer.succeedContext(given)),
    )
    return {
      account,
      local: Context.get(cached, ApiKeys),
      localAccounts: Context.get(cached, Accounts),
      remote,
      remoteAccounts: accounts,
      queries: () => queries,
    }
  })

describe("a cached API key", () => {
  it.scoped(
    "a cached API key is authenticated without a query to the key store, and is looked up again after five seconds at the latest",
    () =>
      Effect.gen(function* () {
        const { account, local, queries } = yield* processes()
        const { key, record } = yield* local.issue({ account })
        for (let i = 0; i < 10; i++) {
          assert.deepStrictEqual(
            { ...(yield* local.authenticate(key)), lastUsedAt: null },
            { ...record, lastUsedAt: null, accountName: "acme", accountSuspendedAt: null },
          )
        }
        assert.strictEqual(queries(), 1)
        yield* TestClock.adjust("5 seconds")
        yield* local.authenticate(key)
        assert.strictEqual(queries(), 2)
      }),
  )

  it.scoped(
    "a cached API key is looked up again after five seconds at the latest, even if the clock is set back",
    () =>
      Effect.gen(function* () {
        const { adjust, clock, putBack } = yield* settable
        yield* Effect.gen(function* () {
          const { account, local, queries, remote } = yield* processes()
          const { key, record } = yield* local.issue({ account })
          yield* local.authenticate(key)
          putBack("1 hour")
          yield* local.authenticate(key)
          assert.strictEqual(queries(), 1)
          yield* remote.revoke(record.id)
          yield* adjust("5 seconds")
          assert.instanceOf(yield* Effect.flip(local.authenticate(key)), InvalidApiKey)
        }).pipe(Effect.withClock(clock))
      }),
  )

  it.scoped("a cached API key is rejected when it expires, even before its cache entry ends", () =>
    Effect.gen(function* () {
      const { account, local } = yield* processes()
      const { key } = yield* local.issue({ account, expiresIn: Duration.seconds(1) })
      yield* local.authenticate(key)
      yield* TestClock.adjust("999 millis")
      yield* local.authenticate(key)
      yield* TestClock.adjust("1 millis")
      assert.instanceOf(yield* Effect.flip(local.authenticate(key)), InvalidApiKey)
    }),
  )

  it.scoped(
    "an API key in constant use is rejected within five seconds after another process revokes the key",
    () =>
      Effect.gen(function* () {
        const { account, local, remote } = yield* processes()
        const { key, record } = yield* remote.issue({ account })
        yield* local.authenticate(key)
        yield* remote.revoke(record.id)
        for (let i = 0; i < 49; i++) {
          yield* TestClock.adjust("100 millis")
          yield* Effect.exit(local.authenticate(key))
        }
        assert.instanceOf(yield* Effect.flip(local.authenticate(key)), InvalidApiKey)
      }),
  )

  it.scoped(
    "an API key is not cached if the same process revokes the key while it looks up the key",
    () =>
      Effect.gen(function* () {
        const found = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        const { account, local } = yield* processes(
          Effect.zipRight(Deferred.succeed(found, undefined), Deferred.await(goOn)),
        )
        const { key, record } = yield* local.issue({ account })
        const asked = yield* Effect.fork(local.authenticate(key))
        yield* Deferred.await(found)
        yield* local.revoke(record.id)
        yield* Deferred.succeed(goOn, undefined)
        yield* Fiber.join(asked)
        assert.instanceOf(yield* Effect.flip(local.authenticate(key)), InvalidApiKey)
      }),
  )
})

describe("many requests with an API key that is not cached", () => {
  it.scoped("requests that arrive while their API key is looked up share that lookup", () =>
    Effect.gen(function* () {
      const { account, local, queries, remote } = yield* processes(Effect.yieldNow())
      const { key, record } = yield* remote.issue({ account })
      const all = yield* Effect.all(
        Array.from({ length: 200 }, () => local.authenticate(key)),
        { concurrency: "unbounded" },
      )
      assert.isTrue(all.every(({ id }) => id === record.id))
      assert.strictEqual(queries(), 1)
    }),
  )

  it.scoped("a request that gives up does not end the key lookup that other requests share", () =>
    Effect.gen(function* () {
      const goOn = yield* Deferred.make<void>()
      const { account, local, remote } = yield* processes(Deferred.await(goOn))
      const { key, record } = yield* remote.issue({ account })
      const first = yield* Effect.fork(local.authenticate(key))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(local.authenticate(key))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* Fiber.join(second)).id, record.id)
    }),
  )

  it.scoped(
    "a request after a revocation does not share a key lookup from before the revocation",
    () =>
      Effect.gen(function* () {
        const goOn = yield* Deferred.make<void>()
        const { account, local } = yield* processes(Deferred.await(goOn))
        const { key, record } = yield* local.issue({ account })
        yield* Effect.fork(local.authenticate(key))
        yield* Effect.yieldNow()
        yield* local.revoke(record.id)
        assert.instanceOf(yield* Effect.flip(local.authenticate(key)), InvalidApiKey)
      }),
  )
})

interface Process {
  readonly keys: ApiKeys["Type"]
  readonly accounts: Accounts["Type"]
}

describe("a change of a key or its account", () => {
  const changes: Readonly<
    Record<
      string,
      (process: Process, account: AccountId, key: ApiKeyId) => Effect.Effect<unknown, unknown>
    >
  > = {
    "a revocation": ({ keys }, _, key) => keys.revoke(key),
    "a rotation without a grace period": ({ keys }, _, key) => keys.rotate(key, Duration.zero),
    "a change of scopes": ({ keys }, _, key) => keys.update(key, { scopes: ["read"] }),
    "a suspension": ({ accounts }, account) => accounts.suspend(account),
    "the end of a suspension": ({ accounts }, account) => accounts.resume(account),
  }

  for (const [name, change] of Object.entries(changes)) {
    it.scoped(
      `${name} takes effect at once in the same process, and within five seconds in another`,
      () =>
        Effect.gen(function* () {
          const { account, local, localAccounts, remote, remoteAccounts } = yield* processes()
          for (const [process, delay] of [
            [{ keys: local, accounts: localAccounts }, "0 seconds"],
            [{ keys: remote, accounts: remoteAccounts }, "5 seconds"],
          ] as const) {
            const isEnd = name === "the end of a suspension"
            yield* isEnd ? remoteAccounts.suspend(account) : remoteAccounts.resume(account)
            yield* TestClock.adjust("10 seconds")
            const { key, record } = yield* local.issue({ account })
            const before = yield* local.authenticate(key)
            yield* change(process, account, record.id)
            yield* TestClock.adjust(delay)
            const found = yield* Effect.either(local.authenticate(key))
            const former = yield* Effect.either(remote.authenticate(key))
            assert.deepStrictEqual(known(found), known(former))
            assert.notDeepEqual(known(found), known(Either.right(before)))
          }
        }),
    )
  }
})

/**
 * Returns what a process knows about a key, except when it was used; undefined if it refuses the
 * key.
 */
const known = (found: Either.Either<AccountKey, unknown>) =>
  Either.isRight(found) ? { ...found.right, lastUsedAt: null } : undefined

describe("an API key whose lookup takes too long", () => {
  it.scoped(
    "an API key lookup fails at its deadline, but a result that arrives later is cached",
    () =>
      Effect.gen(function* () {
        const goOn = yield* Deferred.make<void>()
        const { account, local, queries } = yield* processes(Deferred.await(goOn))
        const { key, record } = yield* local.issue({ account })
        const inTime = Effect.provideService(local.authenticate(key), Deadline, 2000)
        const asked = yield* Effect.fork(Effect.flip(inTime))
        yield* TestClock.adjust(2000)
        assert.deepStrictEqual(yield* Fiber.join(asked), new StoreTimeout({ mayCharge: false }))
        yield* Deferred.succeed(goOn, undefined)
        yield* Effect.repeatN(Effect.yieldNow(), 10)
        assert.strictEqual((yield* local.authenticate(key)).id, record.id)
        assert.strictEqual(queries(), 1)
      }),
  )
})

describe("an unknown API key", () => {
  it.scoped("an unknown API key is not cached, so a new key works immediately", () =>
    Effect.gen(function* () {
      const { account, local, queries, remote } = yield* processes()
      const { key, record } = yield* remote.issue({ account })
      const other = Redacted.make(`${Redacted.value(key)}x`)
      assert.instanceOf(yield* Effect.flip(local.authenticate(other)), InvalidApiKey)
      assert.instanceOf(yield* Effect.flip(local.authenticate(other)), InvalidApiKey)
      assert.strictEqual(queries(), 0)
      assert.strictEqual((yield* local.authenticate(key)).id, record.id)
    }),
  )
})
