/** A ceiling of the program, with a vendor that keeps its own bill. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { postBatch } from "../../scripts/support/postBatch.ts"
import * as BilledMoz from "../support/BilledMoz.ts"
import * as Program from "../support/Program.ts"
import { temporaryDatabase } from "../support/Stores.ts"

const ceiling = 300

/** Sends 300 requests for new hosts to the replicas in turn. */
const buyAll = (vendorUrl: string, replicas: number, more: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const folder = yield* Program.folder
    const settings = {
      ...FakeMoz.settings(vendorUrl),
      AUTHORITY_DATABASE_URL: Redacted.value(yield* temporaryDatabase),
      AUTHORITY_MOZ_CEILING: `${ceiling}/month`,
      ...more,
    }
    const account = ["account", "create", "acme", "--credits", "100000"]
    yield* Program.run(folder, account, settings)
    const created = ["key", "create", "--account", "acme", "--json"]
    const { key } = JSON.parse((yield* Program.run(folder, created, settings)).stdout)
    const running = yield* Effect.replicateEffect(Program.serve(folder, settings), replicas)
    for (let wave = 0; wave < 5; wave++) {
      yield* Effect.forEach(
        Array.from({ length: 60 }).keys(),
        (i) => {
          const urls = Array.from(
            { length: 1 + (i % 4) },
            (_, n) => `n${wave}-${i}-${n}.example.com`,
          )
          const { url } = running[i % replicas] ?? assert.fail("no replica")
          return Effect.promise(() => postBatch(url, key, urls).then((answer) => answer.text()))
        },
        { concurrency: "unbounded" },
      )
    }
    const report = yield* Program.run(folder, ["provider", "report", "--json"], settings)
    return JSON.parse(report.stdout).rows[0]
  })

describe("a ceiling", () => {
  it.scopedLive(
    "one process buys exactly the ceiling",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        yield* buyAll(moz.url, 1)
        assert.strictEqual(moz.rows(), ceiling)
      }),
    120_000,
  )

  it.scopedLive(
    "with every kind of fault, the vendor never bills one process a row above the ceiling",
    () =>
      Effect.gen(function* () {
        const { bill, url } = yield* BilledMoz.make(7)
        yield* buyAll(url, 1, { AUTHORITY_PROVIDER_TIMEOUT: "1s", AUTHORITY_REQUEST_TIMEOUT: "5s" })
        assert.isAbove(bill.rows, ceiling / 2)
        assert.isAtMost(bill.rows, ceiling)
      }),
    120_000,
  )

  it.scopedLive(
    "two replicas stop each other after some seconds",
    () =>
      Effect.gen(function* () {
        const moz = yield* FakeMoz.make
        yield* buyAll(moz.url, 2)
        assert.isAtLeast(moz.rows(), ceiling)
        assert.isAtMost(moz.rows(), 2 * ceiling)
      }),
    120_000,
  )
})
