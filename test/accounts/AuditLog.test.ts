import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it, layer } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { newAccount, newAccountWith } from "../../scripts/support/accounts.ts"
import { charge, credits, figures, grant } from "../../scripts/support/ledger.ts"
import { AccountName, Accounts } from "../../src/accounts/Account.ts"
import { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { Actor, AuditLog, CurrentAct, type Page, refused } from "../../src/accounts/AuditLog.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { lastingStores, type Ports, stores } from "../support/Stores.ts"

const as = (actor: string) => Effect.provideService(Actor, actor)

const newest = (limit: number) => Effect.flatMap(AuditLog, ({ list }) => list({ limit }))

/** Returns the newest lines of the audit log, oldest first, each as action, subject and actor. */
const acts = (limit: number) =>
  Effect.map(newest(limit), (lines) =>
    lines.map(({ action, actor, subject }) => [action, subject, actor]).reverse(),
  )

const suite = (name: string, store: Layer.Layer<Ports | SqlClient.SqlClient, unknown>) =>
  layer(store)(`AuditLog in ${name}`, (it) => {
    it.effect(
      "each change of accounts, keys and credits adds an audit line with its actor and time",
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(Date.UTC(2026, 10, 24))
          const keys = yield* ApiKeys
          const account = yield* newAccount.pipe(as("cli:ann"))
          yield* grant(account.id, 7, "invoice 9").pipe(as("admin@192.0.2.1"))
          const first = yield* keys.issue({ account: account.id, label: "ci" }).pipe(as("cli:ann"))
          const { record } = yield* keys.rotate(first.record.id, Duration.hours(1))
          yield* keys.revoke(record.id).pipe(as("cli:bob"))
          const lines = (yield* newest(6)).toReversed()
          assert.deepStrictEqual(
            lines.map(({ action, actor }) => [action, actor]),
            [
              ["account.create", "cli:ann"],
              ["credits.grant", "admin@192.0.2.1"],
              ["key.create", "cli:ann"],
              ["key.rotate", "serve"],
              ["key.create", "serve"],
              ["key.revoke", "cli:bob"],
            ],
          )
          const [created, granted, issued, rotated, successor, revoked] = lines
          assert.strictEqual(created?.subject, account.name)
          assert.deepInclude(granted?.detail, { amount: 7, note: "invoice 9", entry: 1 })
          assert.deepStrictEqual(
            [issued, rotated, successor, revoked].map((line) => line?.subject),
            [first.record.id, first.record.id, record.id, record.id],
          )
          const of = { account: account.name }
          const scopes = "check,read"
          assert.deepStrictEqual(
            [issued, rotated, successor, revoked].map((line) => line?.detail),
            [
              { ...of, label: "ci", start: first.record.start, expiresAt: null, scopes },
              { ...of, successor: record.id, expiresAt: "2026-11-24T01:00:00.000Z" },
              {
                ...of,
                label: "ci",
                start: record.start,
                expiresAt: null,
                scopes,
                replaces: first.record.id,
              },
              { ...of, revokedAt: "2026-11-24T00:00:00.000Z" },
            ],
          )
          assert.isTrue(lines.every(({ at }) => at === Date.UTC(2026, 10, 24)))
        }),
    )

    it.effect(
      "the audit log is listed from the newest line backwards, page by page, without gaps",
      () =>
        Effect.gen(function* () {
          const log = yield* AuditLog
          for (const subject of ["a", "b", "c", "d", "e"]) {
            yield* log.append({ action: "test.page", subject, detail: {} })
          }
          const first = yield* log.list({ limit: 2 })
          const second = yield* log.list({ limit: 3, before: first.at(-1)?.sequence })
          const lines = [...first, ...second]
          assert.deepStrictEqual(
            lines.map(({ subject }) => subject),
            ["e", "d", "c", "b", "a"],
          )
          const [last = assert.fail("no line")] = lines
          assert.deepStrictEqual(
            lines.map(({ sequence }) => sequence),
            [0, 1, 2, 3, 4].map((i) => last.sequence - i),
          )
          assert.deepStrictEqual(yield* log.list({ limit: 9, before: 1 }), [])
        }),
    )

    it.effect("the audit log can be filtered by subject, actor and action", () =>
      Effect.gen(function* () {
        const log = yield* AuditLog
        const append = (subject: string, action: string, actor: string) =>
          log.append({ action, subject, detail: {} }).pipe(as(actor))
        yield* append("only-a", "test.one", "cli:only")
        yield* append("only-a", "test.two", "cli:only")
        yield* append("only-b", "test.two", "cli:only")
        yield* append("only-a", "test.two", "cli:other")
        const found = (filter: Partial<Page>) =>
          Effect.map(log.list({ limit: 9, ...filter }), (lines) =>
            lines.map(({ action, actor, subject }) => [subject, action, actor]),
          )
        const a = ["only-a", "test.two", "cli:only"]
        assert.deepStrictEqual(yield* found({ actor: "cli:only", action: "test.two" }), [
          ["only-b", "test.two", "cli:only"],
          a,
        ])
        const subject = "only-a"
        assert.deepStrictEqual(yield* found({ subject, action: "test.two" }), [
          ["only-a", "test.two", "cli:other"],
          a,
        ])
        const [newest] = yield* log.list({ limit: 1, subject })
        assert.lengthOf(yield* found({ subject, before: newest?.sequence }), 2)
        assert.deepStrictEqual(yield* found({ subject, actor: "cli:nobody" }), [])
      }),
    )

    it.effect(
      "a refused change adds one audit line with the reason, a successful change one without",
      () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const keys = yield* ApiKeys
          const unknown = ApiKeyId.make("nothing")
          const error = yield* Effect.flip(
            keys.revoke(unknown).pipe(refused("key.revoke", unknown), as("cli:ann")),
          )
          const [line] = yield* newest(1)
          assert.deepInclude(line, {
            actor: "cli:ann",
            action: "key.revoke",
            subject: "nothing",
            detail: { refused: error.message },
          })
          const name = AccountName.make("not-refused")
          yield* accounts.create(name).pipe(refused("account.create", name))
          assert.deepStrictEqual(yield* acts(2), [
            ["key.revoke", "nothing", "cli:ann"],
            ["account.create", "not-refused", "serve"],
          ])
        }),
    )

    it.effect("reads, and changes that fail in the store, add no audit line", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { id, name } = yield* newAccount
        const { key } = yield* keys.issue({ account: id })
        const [before] = yield* newest(1)
        yield* keys.authenticate(key)
        yield* keys.list(id)
        yield* Effect.flip((yield* Accounts).create(AccountName.make(name)))
        yield* Effect.flip(keys.rotate(ApiKeyId.make("none"), Duration.zero))
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual((yield* newest(1))[0], before)
      }),
    )

    it.effect(
      "the audit lines of concurrent changes are numbered without gaps, and a very long subject is cut",
      () =>
        Effect.gen(function* () {
          const log = yield* AuditLog
          const [last] = yield* newest(1)
          const subject = "x".repeat(5000)
          yield* Effect.forEach(
            Array(20).keys(),
            () =>
              Effect.all([
                Effect.flatMap(newAccount, ({ id }) => grant(id, 1)),
                log.append({ action: "test.long", subject, detail: {} }),
              ]),
            { concurrency: "unbounded" },
          )
          const lines = yield* newest(60)
          const before = last?.sequence ?? assert.fail("no line")
          assert.deepStrictEqual(
            lines.map(({ sequence }) => sequence - before).reverse(),
            Array.from({ length: 60 }, (_, i) => i + 1),
          )
          const long = lines.find(({ action }) => action === "test.long")
          assert.strictEqual(long?.subject, "x".repeat(200))
        }),
    )

    it.effect("changing a budget adds an audit line for each key that shares it", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const account = yield* newAccountWith(10)
        const budget = { credits: credits(5), period: "day" } as const
        const { record } = yield* keys.issue({ account, budget })
        const successor = yield* keys.rotate(record.id, Duration.hours(1))
        yield* keys.update(record.id, { label: "bot", budget: { ...budget, credits: credits(7) } })
        assert.deepStrictEqual(
          new Map((yield* newest(2)).map(({ detail, subject }) => [subject, detail["budget"]])),
          new Map([
            [record.id, "7/day"],
            [successor.record.id, "7/day"],
          ]),
        )
        yield* keys.update(successor.record.id, { budget: null })
        assert.deepStrictEqual((yield* newest(1))[0]?.detail["budget"], "none")
      }),
    )

    it.effect(
      "a correction of credits adds an audit line, and one that would overdraw the account changes nothing",
      () =>
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          const { correct } = ledger
          const account = yield* newAccountWith(10)
          yield* correct(account, credits(4), "typed twice")
          const [line] = yield* newest(1)
          assert.deepInclude(line, {
            action: "credits.correct",
            detail: { amount: 4, note: "typed twice", entry: 2 },
          })
          yield* Effect.flip(correct(account, credits(40), "too much"))
          assert.deepStrictEqual((yield* newest(1))[0], line)
        }),
    )

    it.effect("an operator's act is done at most once per idempotency key", () =>
      Effect.gen(function* () {
        const { append, doneUnder } = yield* AuditLog
        const request = { key: "k", fingerprint: "f", onRepeat: Effect.void }
        const create = append({ action: "key.create", subject: "acme", detail: {} }).pipe(
          Effect.provideService(CurrentAct, request),
        )
        assert.deepStrictEqual(yield* doneUnder("k"), [])
        yield* create
        const done = [{ action: "key.create", fingerprint: "f", rowId: "acme" }]
        assert.deepStrictEqual(yield* doneUnder("k"), done)
        const lines = yield* newest(100)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(create)))
        assert.deepStrictEqual(yield* doneUnder("k"), done)
        assert.deepStrictEqual(yield* newest(100), lines)
      }),
    )

    // Removes the counter of the audit log, without which no line can be written.
    const withoutLines = <A, E, R>(changes: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const turn = sql`UPDATE audit_head SET entries = -1 - entries`
        return yield* Effect.acquireUseRelease(
          turn,
          () => changes,
          () => Effect.orDie(turn),
        )
      })

    it.effect("a change is not made if its audit line cannot be written", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* Accounts
        const keys = yield* ApiKeys
        const account = yield* newAccountWith(10)
        const { record } = yield* keys.issue({ account })
        const state = Effect.all([
          accounts.list,
          keys.list(account),
          figures(account),
          sql`SELECT COUNT(*) AS n FROM api_keys`,
        ])
        const before = yield* state
        const budget = { credits: credits(5), period: "day" } as const
        const changes: ReadonlyArray<Effect.Effect<unknown, unknown, Ports>> = [
          newAccount,
          accounts.suspend(account),
          keys.issue({ account, budget }),
          keys.rotate(record.id, Duration.zero),
          keys.update(record.id, { label: "bot", budget }),
          keys.revoke(record.id),
          grant(account, 5),
        ]
        const outcomes = yield* withoutLines(
          Effect.forEach(changes, (change) => Effect.exit(change)),
        )
        assert.deepStrictEqual(outcomes.filter(Exit.isSuccess), [])
        assert.deepStrictEqual(yield* state, before)
        yield* grant(account, 5)
      }),
    )

    it.effect(
      "a grant whose audit line cannot be written fails, but charges in the same commit succeed",
      () =>
        Effect.gen(function* () {
          const account = yield* newAccountWith(10)
          const outcomes = yield* withoutLines(
            Effect.forEach(
              [charge(account, 1), grant(account, 5), charge(account, 2)],
              (change) => Effect.exit(change),
              { concurrency: "unbounded" },
            ),
          )
          assert.deepStrictEqual(outcomes.map(Exit.isSuccess), [true, false, true])
          const { charged, granted } = yield* figures(account)
          assert.deepStrictEqual([Number(granted), Number(charged)], [10, 3])
        }),
    )
  })

for (const [name, store] of stores) suite(name, store)

for (const [name, newStore] of lastingStores) {
  it.scopedLive(
    `audit lines of two processes on one database in ${name} are numbered without gaps`,
    () =>
      Effect.gen(function* () {
        const store = yield* newStore
        yield* Effect.scoped(Layer.build(Layer.fresh(store)))
        const work = Effect.gen(function* () {
          const keys = yield* ApiKeys
          const one = Effect.gen(function* () {
            const account = yield* newAccountWith(5)
            const { record } = yield* keys.issue({ account })
            yield* keys.update(record.id, { label: "bot" })
            yield* Effect.all([grant(account, 1), keys.revoke(record.id)], {
              concurrency: "unbounded",
            })
          })
          yield* Effect.replicateEffect(one, 10, { concurrency: 5, discard: true })
        })
        yield* Effect.all(
          [1, 2].map(() => Effect.provide(work, Layer.fresh(store))),
          { concurrency: "unbounded" },
        )
        const lines = yield* Effect.provide(newest(1000), Layer.fresh(store))
        assert.deepStrictEqual(
          lines.map(({ sequence }) => sequence).reverse(),
          Array.from({ length: 120 }, (_, i) => i + 1),
        )
      }),
  )
}
