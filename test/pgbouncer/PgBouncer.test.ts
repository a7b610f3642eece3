/** Tests two replicas of the program behind PgBouncer, with lost answers and restarts. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Traffic from "../../scripts/traffic.ts"
import { ReconnectLimit } from "../../src/database/retry.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { charge, figures, problemsOf, statement } from "../../scripts/support/ledger.ts"
import * as PgBouncer from "../../scripts/support/PgBouncer.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import { folder, run, serve } from "../support/Program.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import { newDatabaseOn, postgresDatabase } from "../support/Stores.ts"
import { eventually } from "../support/eventually.ts"

type Mode = Omit<PgBouncer.Options, "server">

const transactionMode: Mode = { poolMode: "transaction", poolSize: 5 }

const modes: ReadonlyArray<readonly [name: string, mode: Mode]> = [
  ["session mode", { poolMode: "session" }],
  ["transaction mode", transactionMode],
  ...(PgBouncer.keepsPreparedStatements()
    ? [
        [
          "transaction mode with prepared statements",
          { ...transactionMode, preparedStatements: 200 },
        ] as const,
      ]
    : []),
]

const server = Effect.acquireRelease(
  Effect.promise(() => Postgres.start({ durable: false })),
  ({ destroy }) => Effect.promise(destroy),
)

const bouncer = (options: PgBouncer.Options) =>
  Effect.acquireRelease(
    Effect.promise(() => PgBouncer.start(options)),
    ({ destroy }) => Effect.promise(destroy),
  )

const at = (base: string, database: Redacted.Redacted) =>
  Redacted.make(base + new URL(Redacted.value(database)).pathname)

/** Two replicas, a proxy that can lose answers, PgBouncer, PostgreSQL, and one account. */
const world = (mode: Mode, more: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const postgres = yield* server
    const pgbouncer = yield* bouncer({ ...mode, server: postgres.url })
    const database = yield* newDatabaseOn(postgres.url)
    const line = yield* Proxy.make(at(pgbouncer.url, database))
    // The test reads the books without PgBouncer.
    const stores = yield* Layer.build(postgresDatabase(database))
    const account = yield* Effect.provide(newAccountWith(1_000_000), stores)
    const { key } = yield* Context.get(stores, ApiKeys).issue({ account })
    const moz = yield* FakeMoz.make
    const cwd = yield* folder
    const settings = {
      AUTHORITY_DATABASE_URL: Redacted.value(line.url),
      ...FakeMoz.settings(moz.url),
      ...more,
    }
    const replicas = yield* Effect.all([serve(cwd, settings), serve(cwd, settings)], {
      concurrency: 2,
    })
    let sent = 0
    const traffic = (goesOn: (sent: number) => boolean) =>
      Effect.promise(() =>
        Traffic.run({
          urls: replicas.map(({ url }) => url),
          apiKey: Redacted.value(key),
          clients: 32,
          goesOn: (n) => {
            sent = n
            return goesOn(n)
          },
        }),
      )

    /** Compares the clients' outcomes with the charges in the account statement. */
    const tally = (outcomes: ReadonlyArray<Traffic.Outcome>) =>
      Effect.gen(function* () {
        const entries = yield* statement(account)
        const charges = entries.flatMap(({ amount, kind, requestId }) =>
          kind === "charge" && requestId !== null ? [[requestId, Number(amount)] as const] : [],
        )
        return Traffic.tally(outcomes, charges)
      }).pipe(Effect.provide(stores))

    /** Checks that the ledger is consistent, without open holds or unanswered idempotency keys. */
    const isTidy = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const open = sql`SELECT key FROM receipts WHERE body IS NULL`
      yield* eventually(
        "holds and keys are released",
        Effect.zipWith(figures(account), open, ({ held }, keys) => held === 0 && keys.length === 0),
      )
      assert.deepStrictEqual(yield* problemsOf(account), [])
    }).pipe(Effect.provide(stores))

    /** Runs a disturbance while clients send requests, and returns the outcomes. */
    const during = <E>(disturbance: Effect.Effect<void, E>) =>
      Effect.gen(function* () {
        let isOver = false
        const clients = yield* Effect.fork(traffic(() => !isOver))
        yield* eventually("requests run", () => sent > 100)
        yield* disturbance
        isOver = true
        return yield* Fiber.join(clients)
      })

    const requestsRunAgain = Effect.suspend(() => {
      const before = sent
      return eventually("requests run again", () => sent > before + 100)
    })

    return { postgres, pgbouncer, line, traffic, during, requestsRunAgain, tally, isTidy }
  })

type World = Effect.Effect.Success<ReturnType<typeof world>>

/** Stops the server and starts it again after a pause. */
const restart = ({ start, stop }: Pick<PgBouncer.PgBouncer, "start" | "stop">, pauseMs = 0) =>
  Effect.promise(async () => {
    await stop()
    await sleep(pauseMs)
    await start()
  })

/** The tally if no attempt of a request failed and each answered request was charged once. */
const nothingFails = { lost: 0, doubled: 0, unacknowledged: 0, failures: {} }

describe.each(modes)("PgBouncer in %s", (_, mode) => {
  it.scopedLive(
    "each request is charged once when PgBouncer loses the answer of every 25th COMMIT",
    () =>
      Effect.gen(function* () {
        const { isTidy, line, tally, traffic } = yield* world(mode)
        line.loseAnswers(25)
        const requests = mode.poolMode === "session" ? 1000 : 3000
        const result = yield* tally(yield* traffic((sent) => sent < requests))
        assert.deepInclude(result, { ...nothingFails, acknowledged: requests, charged: requests })
        assert.isAbove(line.commits(), 50)
        yield* isTidy
      }),
  )
})

// These tests run concurrently, because PgBouncer waits 15 seconds before it connects again to a
// PostgreSQL server that was down.
describe.concurrent("restarts of PgBouncer and its server", () => {
  const survives = (mode: Mode, disturbance: (world: World) => Effect.Effect<unknown, Error>) =>
    Effect.gen(function* () {
      const started = yield* world(mode)
      const { during, isTidy, tally } = started
      assert.deepInclude(yield* tally(yield* during(disturbance(started))), nothingFails)
      yield* isTidy
    })

  it.scopedLive.each(modes)(
    "with PgBouncer in %s, no request fails while first PgBouncer and then PostgreSQL restarts",
    ([, mode]) =>
      survives(mode, ({ pgbouncer, postgres, requestsRunAgain }) =>
        Effect.all([restart(pgbouncer), requestsRunAgain, restart(postgres), requestsRunAgain]),
      ),
  )

  it.scopedLive("no request fails while PgBouncer is down for five seconds", () =>
    survives(transactionMode, ({ pgbouncer, requestsRunAgain }) =>
      Effect.zipRight(restart(pgbouncer, 5000), requestsRunAgain),
    ),
  )

  it.scopedLive("no request fails while the PostgreSQL server is down for five seconds", () =>
    survives(transactionMode, ({ postgres, requestsRunAgain }) =>
      Effect.zipRight(restart(postgres, 5000), requestsRunAgain),
    ),
  )
})

describe("a request timeout that is shorter than the outage", () => {
  it.scopedLive(
    "clients that repeat timed-out requests after an outage get an answer for each idempotency key",
    () =>
      Effect.gen(function* () {
        const { during, isTidy, postgres, requestsRunAgain, tally } = yield* world(
          transactionMode,
          { AUTHORITY_REQUEST_TIMEOUT: "2s" },
        )
        const outcomes = yield* during(Effect.zipRight(restart(postgres, 5000), requestsRunAgain))
        const { doubled, lost } = yield* tally(outcomes)
        assert.deepStrictEqual({ doubled, lost }, { doubled: 0, lost: 0 })
        const named = outcomes.filter(({ key }) => key !== undefined)
        assert.isTrue(named.some(({ statuses }) => statuses.includes(503)))
        // A request whose provider answers too late gets an answer that costs 0 credits.
        assert.deepStrictEqual(
          named.filter(({ creditsUsed }) => creditsUsed === undefined),
          [],
        )
        yield* isTidy
      }),
  )
})

describe("slow reads behind PgBouncer", () => {
  it.scopedLive(
    "when slow reads are interrupted, no other request fails or waits longer than a statement may take",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        const pgbouncer = yield* bouncer({ ...transactionMode, server: postgres.url })
        const database = at(pgbouncer.url, yield* newDatabaseOn(postgres.url))
        const others = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* newAccountWith(1000)
          const slow = sql`SELECT CAST(pg_sleep(30) AS TEXT)`
          const reads = yield* Effect.forEach(
            [slow, sql.withTransaction(slow), slow, slow],
            (read) => Effect.forkDaemon(read),
          )
          yield* Effect.sleep("500 millis")
          yield* Effect.forEach(reads, Fiber.interruptFork)
          const request = Effect.zipRight(charge(account, 1), figures(account))
          return yield* Effect.all(
            Array.from({ length: 20 }, () => Effect.timed(request)),
            { concurrency: "unbounded" },
          )
        }).pipe(
          Effect.provide(postgresDatabase(database)),
          Effect.provideService(ReconnectLimit, { limit: Duration.seconds(30) }),
        )
        const longest = Math.max(...others.map(([duration]) => Duration.toMillis(duration)))
        assert.isAbove(longest, 5_000)
        assert.isBelow(longest, 20_000)
      }),
  )
})

describe("PgBouncer in statement mode", () => {
  it.scopedLive(
    "serve and doctor behind PgBouncer in statement mode fail and name the pool mode to set",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        const cwd = yield* folder
        const on = (url: string) => ({ AUTHORITY_DATABASE_URL: `${url}/postgres` })
        const { url } = yield* bouncer({ poolMode: "statement", server: postgres.url })
        const advice = "PgBouncer's pool_mode=statement .*; set pool_mode to transaction"
        const serve = yield* run(cwd, ["serve"], on(url))
        assert.strictEqual(serve.code, 1)
        assert.match(serve.stderr, new RegExp(`^authority: ${advice}`))

        yield* run(cwd, ["account", "create", "acme"], on(postgres.url))
        const doctor = yield* run(cwd, ["doctor"], on(url))
        assert.strictEqual(doctor.code, 1)
        assert.match(doctor.stdout, new RegExp(`failure +database: ${advice}`))
        assert.notInclude(doctor.stdout, "cannot be reached")
      }),
  )
})
