/** Tests the order in which the service starts and stops. */
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import * as AuthorityCheck from "../../src/check/AuthorityCheck.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { CannotListen, Listener } from "../../src/http/NodeServer.ts"
import * as Server from "../../src/http/Server.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { type Lookup, make, succeeding } from "../support/ScriptedProvider.ts"
import { sqliteFile } from "../support/Stores.ts"
import * as UsageReport from "../../src/ledger/usage/UsageReport.ts"
import { figureHistory } from "../support/figureHistory.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { batch, creditsPath } from "../support/TestServer.ts"
import { listen } from "../../scripts/support/listen.ts"
import { connect, request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

/** A service on its own database, whose provider waits for `gate`. */
const service = (gate: Deferred.Deferred<void>, port = 0) =>
  serviceOf((targets) => Effect.zipRight(Deferred.await(gate), succeeding(targets)), port)

const serviceOf = (
  lookup: Lookup,
  port = 0,
  shutdownTimeout: Duration.DurationInput = "5 seconds",
  store = sqliteFile,
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const provider = make(lookup)
    const filename = join(yield* temporaryFolder, "authority.db")
    const context = yield* Server.layer({
      host: "127.0.0.1",
      port,
      corsOrigins: [],
      maxConnections: 10,
      requestTimeout: "30 seconds",
      shutdownTimeout,
      isTraced: false,
      hasSyntheticFigures: false,
      rateLimit: undefined,
    }).pipe(
      Layer.provide([
        AuthorityCheck.layer({ price: Credits.make(1) }),
        figureHistory(),
        UsageReport.layer,
      ]),
      Layer.provide([memory.health, provider.layer]),
      Layer.provideMerge(store(filename)),
      Layer.buildWithScope(scope),
    )
    const { account, key } = yield* Effect.gen(function* () {
      const account = yield* newAccountWith(100)
      return { account, key: (yield* (yield* ApiKeys).issue({ account })).key }
    }).pipe(Effect.provide(context))
    const { url } = Context.get(context, Listener).address()
    const stop = Scope.close(scope, Exit.void)
    yield* Effect.addFinalizer(() => stop)
    return {
      url,
      stop,
      calls: provider.calls,
      /** The account's balance, read from the file after the service has stopped. */
      booksAfter: Effect.flatMap(CreditLedger, ({ balance }) => balance(account)).pipe(
        Effect.provide(sqliteFile(filename)),
      ),
      credits: request(url, {
        path: creditsPath,
        headers: { "x-api-key": Redacted.value(key) },
      }),
      check: request(url, batch(Redacted.value(key), '{"urls":["example.com"]}')),
    }
  })

describe("a service that stops", () => {
  it.scopedLive(
    "a stopping service answers the requests in flight before it closes the database",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const { calls, check, stop, url } = yield* service(gate)
        const inFlight = yield* Effect.fork(check)
        yield* eventually("the provider is asked", () => calls.length === 1)
        const stopping = yield* Effect.fork(stop)
        yield* eventually(
          "no connection is accepted",
          Effect.map(Effect.exit(Effect.scoped(connect(url))), Exit.isFailure),
        )
        yield* Deferred.succeed(gate, undefined)
        const answer = yield* Fiber.join(inFlight)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(answer.headers["connection"], "close")
        yield* Fiber.join(stopping)
      }),
  )

  it.scopedLive("a stopping service releases the holds of clients that have just hung up", () =>
    Effect.gen(function* () {
      // The provider call takes a while to be interrupted.
      const closed = yield* Deferred.make<void>()
      const { booksAfter, calls, check, stop } = yield* serviceOf(() =>
        Effect.onInterrupt(Effect.never, () => Deferred.await(closed)),
      )
      const clients = yield* Effect.replicateEffect(Effect.fork(check), 9)
      yield* eventually("the provider is asked", () => calls.length === clients.length)
      yield* Fiber.interruptAll(clients)
      const stopping = yield* Effect.fork(stop)
      yield* Deferred.succeed(closed, undefined)
      yield* Fiber.join(stopping)
      const { charged, held } = yield* booksAfter
      assert.deepStrictEqual([Number(charged), Number(held)], [0, 0])
    }),
  )

  it.scopedLive(
    "a stopping service waits at most a second for a request that cannot be interrupted",
    () =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const hangs = Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never)
        const hanging = Layer.function(CreditLedger, CreditLedger, (ledger) => ({
          ...ledger,
          balance: () => Effect.uninterruptible(hangs),
        }))
        const { credits, stop } = yield* serviceOf(succeeding, 0, "100 millis", (filename) =>
          Layer.provideMerge(hanging, sqliteFile(filename)),
        )
        yield* Effect.fork(credits)
        yield* Deferred.await(asked)
        const [waited] = yield* Effect.timed(stop)
        assert.isBelow(Duration.toMillis(waited), 5000)
      }),
  )

  it.scopedLive("a stopped service refuses new connections", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* Deferred.succeed(gate, undefined)
      const { check, stop } = yield* service(gate)
      assert.strictEqual((yield* check).status, 200)
      yield* stop
      assert.isTrue(Exit.isFailure(yield* Effect.exit(check)))
    }),
  )
})

describe("a service whose port is in use", () => {
  it.scopedLive("the error of a port in use names AUTHORITY_PORT", () =>
    Effect.gen(function* () {
      const { port } = new URL(yield* listen(createServer()))
      const error = yield* Effect.flip(service(yield* Deferred.make<void>(), Number(port)))
      assert.instanceOf(error, CannotListen)
      assert.include(error.message, "AUTHORITY_PORT")
    }),
  )
})
