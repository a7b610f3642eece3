/**
 * Tests the program on the server that `node scripts/engines.ts` chose: three replicas start, serve
 * and stop.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import * as EngineProxy from "../../scripts/support/EngineProxy.ts"
import { eventually } from "../support/eventually.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { figures, problemsOf, statement } from "../../scripts/support/ledger.ts"
import * as Traffic from "../../scripts/traffic.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { documentOf, exited, folder, run, serve } from "../support/Program.ts"
import { postgresDatabase, temporaryDatabase } from "../support/Stores.ts"

const requests = 300

describe("the service on a distributed SQL engine", () => {
  it.scopedLive(
    "three replicas create the database at once, charge each request once, and the doctor finds no failure",
    () =>
      Effect.gen(function* () {
        const database = yield* temporaryDatabase
        // One in ten statements conflicts, and no calm period follows a conflict.
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() =>
            EngineProxy.start({ server: Redacted.value(database), conflicts: 0.1 }),
          ),
          ({ stop }) => Effect.promise(stop),
        )
        const url = Redacted.make(proxy.url)
        const moz = yield* FakeMoz.make
        const cwd = yield* folder
        const settings = {
          AUTHORITY_DATABASE_URL: Redacted.value(url),
          ...FakeMoz.settings(moz.url),
        }
        const replicas = yield* Effect.all(
          [serve(cwd, settings), serve(cwd, settings), serve(cwd, settings)],
          { concurrency: "unbounded" },
        )
        const stores = yield* Layer.build(postgresDatabase(url))
        const account = yield* Effect.provide(newAccountWith(1_000_000), stores)
        const { key } = yield* Context.get(stores, ApiKeys).issue({ account })
        const outcomes = yield* Effect.promise(() =>
          Traffic.run({
            urls: replicas.map((replica) => replica.url),
            apiKey: Redacted.value(key),
            clients: 16,
            goesOn: (sent) => sent < requests,
          }),
        )
        yield* Effect.gen(function* () {
          const charges = (yield* statement(account)).flatMap(({ amount, kind, requestId }) =>
            kind === "charge" && requestId !== null ? [[requestId, Number(amount)] as const] : [],
          )
          assert.deepInclude(Traffic.tally(outcomes, charges), {
            acknowledged: requests,
            charged: requests,
            lost: 0,
            doubled: 0,
            unacknowledged: 0,
            failures: {},
          })
          yield* eventually(
            "holds are released",
            Effect.map(figures(account), ({ held }) => held === 0),
          )
          assert.deepStrictEqual(yield* problemsOf(account), [])
        }).pipe(Effect.provide(stores))

        const doctor = yield* run(cwd, ["doctor"], settings)
        assert.strictEqual(doctor.code, 0, doctor.stdout)
        const verify = ["credits", "verify", "--json"]
        const books = yield* Effect.flatMap(run(cwd, verify, settings), documentOf(verify))
        assert.deepInclude(books, { ok: true, problems: [] })
        assert.deepStrictEqual(proxy.refused(), [])
        assert.isAbove(proxy.conflicts(), 50)
        for (const replica of replicas) {
          replica.signal("SIGTERM")
          assert.strictEqual(yield* exited(replica), 0)
        }
      }),
    120_000,
  )
})
