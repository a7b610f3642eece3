/** A ceiling over two replicas of the program on one PostgreSQL, with a vendor that keeps its own bill. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { postBatch } from "../../scripts/support/postBatch.ts"
import { Purchases } from "../../src/Purchases.ts"
import * as Postgres from "../../src/sql/Postgres.ts"
import * as SqlPurchases from "../../src/sql/Purchases.ts"
import * as BilledMoz from "../support/BilledMoz.ts"
import * as Program from "../support/Program.ts"
import { temporaryDatabase } from "../support/Stores.ts"

const ceiling = 300

/** Buys new hosts through two replicas until nothing is left, and returns the sums of our books. */
const buyAll = (vendorUrl: string, { hasFaults }: { readonly hasFaults: boolean }) =>
  Effect.gen(function* () {
    const database = yield* temporaryDatabase
    const folder = yield* Program.folder
    const settings = {
      ...FakeMoz.settings(vendorUrl),
      AUTHORITY_DATABASE_URL: Redacted.value(database),
      AUTHORITY_MOZ_CEILING: `${ceiling}/month`,
      // Short only where calls get no answer: a slow machine must not make calls unknown.
      ...(hasFaults && { AUTHORITY_PROVIDER_TIMEOUT: "1s", AUTHORITY_REQUEST_TIMEOUT: "5s" }),
    }
    const replica = Program.serve(folder, settings)
    let replicas = [yield* replica, yield* replica]
    const account = ["acme", "--credits", "100000"]
    yield* Program.run(folder, ["account", "create", ...account], settings)
    const created = ["key", "create", "--account", "acme", "--json"]
    const { key } = JSON.parse((yield* Program.run(folder, created, settings)).stdout)

    let hosts = 0
    /** Sends 60 requests for one to four new hosts each, alternately to both replicas. */
    const wave = () =>
      Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          const urls = Array.from({ length: 1 + (i % 4) }, () => `n${hosts++}.example.com`)
          await postBatch(replicas[i % 2]?.url ?? "", key, urls).then(
            (answer) => answer.text(),
            // A replica that is killed does not answer.
            () => "",
          )
        }),
      )
    const { days } = Context.get(
      yield* Layer.build(SqlPurchases.layer.pipe(Layer.provide(Postgres.layer(database)))),
      Purchases,
    )
    for (let i = 0; i < 20; i++) {
      const [former] = replicas
      const waves = Effect.promise(wave)
      if (hasFaults && i === 1) {
        const killing = Effect.sync(() => former?.signal("SIGKILL")).pipe(
          Effect.delay("150 millis"),
        )
        yield* Effect.all([waves, killing], { concurrency: 2 })
      } else yield* waves
      const [sums = assert.fail("nothing was bought")] = yield* days({})
      if (sums.rows + sums.unknownTargets === ceiling) {
        // What is in flight is still unknown.
        yield* Effect.promise(() => sleep(1500))
        const [last = sums] = yield* days({})
        if (last.rows + last.unknownTargets === ceiling) return last
      }
      // A replica that found no room looks again after ten minutes, but a new one at once.
      former?.signal("SIGTERM")
      replicas = [...replicas.slice(1), yield* replica]
    }
    return assert.fail("the ceiling leaves room that nobody could use")
  })

const test = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.scopedLive(title, () => body, 120_000)

describe("a ceiling over two replicas", () => {
  test(
    "the vendor bills exactly the ceiling",
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const sums = yield* buyAll(moz.url, { hasFaults: false })
      assert.deepInclude(sums, { rows: ceiling, unknownTargets: 0 })
      assert.strictEqual(moz.rows(), ceiling)
    }),
  )

  test(
    "with every kind of fault and a killed replica, the vendor never bills a row above the ceiling, and the books explain its bill",
    Effect.gen(function* () {
      const { bill, url } = yield* BilledMoz.make(7)
      const sums = yield* buyAll(url, { hasFaults: true })
      assert.isAtMost(bill.rows, ceiling)
      assert.isAtLeast(bill.rows, sums.rows)
      assert.isAtMost(bill.rows - sums.rows, sums.unknownTargets)
    }),
  )
})
