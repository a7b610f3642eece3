/** Two replicas on one PostgreSQL, with a fake Moz on a real port. `npm run claims` runs more. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Round from "../../scripts/claim-round.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { Purchases } from "../../src/Purchases.ts"
import * as Postgres from "../../src/sql/Postgres.ts"
import * as SqlPurchases from "../../src/sql/Purchases.ts"
import { exited, folder, newAccount, serve } from "../support/Program.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"

/** Runs a round on two new replicas. */
const round = (isKill: boolean) =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const database = yield* temporaryDatabase
    const vendor = Round.watched(yield* FakeMoz.make)
    const { key } = yield* Effect.provide(newAccount(100_000), postgresDatabase(database))
    const replica = (index: number) =>
      Effect.map(
        serve(cwd, {
          AUTHORITY_DATABASE_URL: Redacted.value(database),
          // A killed process delays the other one by this time and two seconds.
          ...(isKill && { AUTHORITY_PROVIDER_TIMEOUT: "3s" }),
          ...Round.settingsOf(vendor, index),
        }),
        (running) => ({
          url: running.url,
          kill: async () => {
            running.signal("SIGKILL")
            await Effect.runPromise(exited(running))
          },
        }),
      )
    const replicas = [yield* replica(0), yield* replica(1)] as const
    const figures = yield* Effect.promise(() =>
      Round.runRound({ vendor, apiKey: key, replicas, isKill }),
    )
    // The other replica closes its last purchase a few milliseconds after its answer.
    yield* Effect.sleep("1 second")
    const days = yield* Effect.flatMap(Purchases, (purchases) => purchases.days({})).pipe(
      Effect.provide(Layer.provide(SqlPurchases.layer, Postgres.layer(database))),
    )
    return { ...figures, unknown: days.reduce((sum, day) => sum + day.unknownTargets, 0) }
  })

describe("two replicas on one PostgreSQL", () => {
  it.scopedLive("800 concurrent requests for 40 hosts buy 40 rows", () =>
    Effect.gen(function* () {
      const { failed, rows } = yield* round(false)
      assert.deepStrictEqual([rows, failed], [Round.hostsOfRound, 0])
    }),
  )

  it.scopedLive(
    "when a replica is killed in a call, only the rows of its unknown calls are bought again, and the other answers every request in time",
    () =>
      Effect.gen(function* () {
        const { failed, rows, slowestMs, unknown } = yield* round(true)
        assert.strictEqual(failed, 0)
        assert.isAtLeast(rows, Round.hostsOfRound)
        assert.isAtMost(rows, Round.hostsOfRound + unknown)
        assert.isBelow(slowestMs, 30_000)
      }),
  )
})
