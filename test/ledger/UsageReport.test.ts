import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { within } from "../../src/check/Deadline.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import * as UsageReport from "../../src/ledger/usage/UsageReport.ts"
import { newAccount } from "../../scripts/support/accounts.ts"
import { credits, grant, newHold } from "../../scripts/support/ledger.ts"
import { inSql } from "../support/Stores.ts"

const ports = Layer.orDie(inSql(Sqlite.layer(":memory:")))

const report = Effect.flatMap(UsageReport.UsageReport, ({ rows }) => rows({ by: "account" }))

describe("the usage over all accounts", () => {
  it.effect("the usage report names accounts and keys, those that spent most credits first", () =>
    Effect.gen(function* () {
      const { rows } = yield* UsageReport.UsageReport
      const { charge } = yield* CreditLedger
      const keys = yield* ApiKeys
      const spend = (amount: number, label?: string) =>
        Effect.gen(function* () {
          const { id: account, name } = yield* newAccount
          yield* grant(account, 100)
          const { record } = yield* keys.issue({ account, label })
          const hold = { ...newHold(account, amount), apiKeyId: record.id }
          yield* charge(hold, { amount: credits(amount), urls: amount, known: 1 })
          return { name, id: record.id }
        })
      const [little, much] = [yield* spend(2, "ci"), yield* spend(9)]
      const counts = { failed: { INVALID_URL: 0, PROVIDER_ERROR: 0, SERVER_ERROR: 0 }, known: 1 }
      const [nine, two] = [
        { checks: 9, credits: 9, bought: 8, ...counts },
        { checks: 2, credits: 2, bought: 1, ...counts },
      ]
      assert.deepStrictEqual(yield* rows({ by: "account" }), [
        { account: much.name, ...nine },
        { account: little.name, ...two },
      ])
      assert.deepStrictEqual(yield* rows({ by: "key" }), [
        { account: much.name, key: { id: much.id, label: null }, ...nine },
        { account: little.name, key: { id: little.id, label: "ci" }, ...two },
      ])
      assert.deepStrictEqual(yield* rows({ by: "day" }), [
        { day: "1970-01-01", checks: 11, credits: 11, bought: 9, ...counts, known: 2 },
      ])
      assert.lengthOf(yield* rows({ by: "key", limit: 1 }), 1)
    }).pipe(Effect.provide(Layer.provideMerge(UsageReport.layer, ports))),
  )

  it.live("a ledger that does not answer by the deadline fails with StoreTimeout", () =>
    Effect.gen(function* () {
      const silent = Layer.effect(
        CreditLedger,
        Effect.map(CreditLedger, (ledger) => ({ ...ledger, usage: () => Effect.never })),
      ).pipe(Layer.provideMerge(ports))
      const error = yield* within(20)(Effect.flip(report)).pipe(
        Effect.provide(Layer.provide(UsageReport.layer, silent)),
      )
      assert.strictEqual(error._tag, "StoreTimeout")
    }),
  )
})
