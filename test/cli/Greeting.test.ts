import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { demoName } from "../../src/cli/commands/demo.ts"
import * as greeting from "../../src/cli/greeting.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { Listener } from "../../src/http/NodeServer.ts"
import * as Settings from "../../src/Settings.ts"
import { sqliteFile } from "../support/Stores.ts"

const listener = Layer.sync(Listener, () => ({
  server: createServer(),
  address: () => ({ port: 8080, url: "http://127.0.0.1:8080" }),
  isDraining: () => false,
  drain: Effect.void,
}))

it.scoped(
  "a first start that is stopped while it creates the demo account still creates its key",
  () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const isMade = yield* Deferred.make<void>()
      const isStopped = yield* Deferred.make<void>()
      const slowLedger: CreditLedger["Type"] = {
        ...ledger,
        grant: (...args) =>
          Deferred.succeed(isMade, undefined).pipe(
            Effect.zipRight(Deferred.await(isStopped)),
            Effect.zipRight(ledger.grant(...args)),
          ),
      }
      const start = yield* Layer.build(greeting.layer({ json: true })).pipe(
        Effect.provideService(CreditLedger, slowLedger),
        Effect.fork,
      )
      yield* Deferred.await(isMade)
      yield* Fiber.interruptFork(start)
      yield* Effect.yieldNow()
      yield* Deferred.succeed(isStopped, undefined)
      yield* Fiber.await(start)
      const { id } = yield* (yield* Accounts).find(demoName)
      assert.lengthOf(yield* (yield* ApiKeys).list(id), 1)
    }).pipe(Effect.provide(Layer.mergeAll(sqliteFile(":memory:"), listener, Settings.from({})))),
)
