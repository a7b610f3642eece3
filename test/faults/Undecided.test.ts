/** Tests requests while a database stops answering, or when its answer to a COMMIT is lost. */
import { join } from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PostgresClient from "../../src/database/Postgres.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { start, type Client, type Service } from "../support/DatabaseService.ts"
import * as Postgres from "../../scripts/support/Postgres.ts"
import * as Proxy from "../../scripts/support/Proxy.ts"
import { checked, knowing, succeeding, failed } from "../support/ScriptedProvider.ts"
import { newDatabaseOn } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { batch, creditsPath } from "../support/TestServer.ts"
import { type Answer } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

interface Database {
  readonly client: Layer.Layer<SqlClient.SqlClient, unknown>
  /** Stops all commits until `thaw`. */
  readonly freeze: Effect.Effect<unknown>
  readonly thaw: Effect.Effect<unknown>
}

/** Starts a service on a database that can freeze, even during a lookup. */
const startOn = (database: Effect.Effect<Database, unknown, Scope.Scope>) =>
  Effect.gen(function* () {
    const { client, freeze, thaw } = yield* database
    let commits = 0
    const service = yield* start({
      database: client,
      // Long enough to open a connection to PostgreSQL on a busy machine.
      timeout: "2 seconds",
      provider: knowing(
        (page) => (page.startsWith("known") ? checked() : undefined),
        (targets) =>
          Effect.zipRight(
            targets[0].page.startsWith("freezing") ? freeze : Effect.void,
            targets[0].page.includes("failing")
              ? Effect.succeed(targets.map(() => failed))
              : succeeding(targets),
          ),
      ).layer,
      transactions: {
        around: (transaction) =>
          Effect.zipRight(
            Effect.sync(() => void commits++),
            transaction,
          ),
      },
    })
    // Runs before the service closes, because the service waits for the database.
    yield* Effect.addFinalizer(() => thaw)
    const newClientUnknown = service.newClient(10)
    /** Creates a client whose API key the service has cached. */
    const newClient = Effect.gen(function* () {
      const client = yield* newClientUnknown
      assert.strictEqual((yield* post(service, client, "localhost")).status, 200)
      return client
    })
    /** Starts a request in the background, and waits until its commit begins. */
    const underWay = <A, E>(request: Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        const before = commits
        const asked = yield* Effect.fork(request)
        yield* eventually("the commit begins", () => commits > before)
        return asked
      })
    return { ...service, newClient, newClientUnknown, underWay, freeze, thaw }
  })

const post = (service: Pick<Service, "send">, { key }: Client, url: string, name?: string) =>
  service.send(
    batch(
      key,
      JSON.stringify({ urls: [url] }),
      name === undefined ? {} : { "idempotency-key": name },
    ),
  )

const isUnavailable = ({ headers, status, text }: Answer) => {
  assert.strictEqual(status, 503, text)
  assert.strictEqual(headers["retry-after"], "1")
  assert.strictEqual(headers["content-type"], "application/json")
  assert.isFalse(JSON.parse(text).success)
}

const nothingIsCharged = (answer: Answer) => {
  isUnavailable(answer)
  assert.include(answer.text, "nothing is charged")
}

/** Returns true for the 500 of a request without a key whose charge may have been committed. */
const isUndecided = ({ headers, status, text }: Answer) => {
  assert.strictEqual(status, 500, text)
  assert.isUndefined(headers["retry-after"])
  assert.include(JSON.parse(text).message, String(headers["x-request-id"]))
}

/** Repeats the request as long as the service is unavailable or the request is in progress. */
const again = (request: Effect.Effect<Answer, Error>) =>
  Effect.repeat(Effect.delay(request, 50), { while: ({ status }) => status > 400 })

const isReplay = ({ headers, status }: Answer) => {
  assert.strictEqual(status, 200)
  return headers["idempotent-replayed"] === "true"
}

/** Checks that no hold is left and the books add up. Returns the ids of the charges. */
const charged = (service: Pick<Service, "booksOf" | "verify">, client: Client) =>
  Effect.gen(function* () {
    const books = service.booksOf(client.account)
    yield* eventually(
      "no hold is open",
      Effect.map(books, ({ held }) => Number(held) === 0),
    )
    assert.deepStrictEqual((yield* service.verify).problems, [])
    const { entries } = yield* books
    return entries.flatMap(({ kind, requestId }): ReadonlyArray<string | null> =>
      kind === "charge" ? [requestId] : [],
    )
  })

/** The test suite for one database. `reads` is true when a frozen database can still be read. */
const suite = (
  database: Effect.Effect<Database, unknown, Scope.Scope>,
  { reads }: { readonly reads: boolean },
) => {
  it.scopedLive(
    "a charge that runs while the database freezes may be committed, but requests queued behind it are not",
    () =>
      Effect.gen(function* () {
        const service = yield* startOn(database)
        const [one, other] = [yield* service.newClient, yield* service.newClient]
        const [reader, unknown] = [yield* service.newClient, yield* service.newClientUnknown]
        yield* service.freeze
        const first = yield* service.underWay(post(service, one, "known.example.com"))
        const waiting = yield* Effect.forEach(
          [
            post(service, other, "known.example.com"),
            post(service, other, "known.example.com", "a"),
            post(service, other, "bought.example.com"),
            post(service, other, "bought.example.com", "b"),
          ],
          (request) => Effect.fork(request),
        )
        const balance = yield* Effect.fork(
          service.send({ path: creditsPath, headers: { "x-api-key": reader.key } }),
        )
        const uncached = yield* Effect.fork(post(service, unknown, "localhost"))
        const undecided = yield* Fiber.join(first)
        isUndecided(undecided)
        for (const asked of waiting) nothingIsCharged(yield* Fiber.join(asked))
        if (reads) {
          assert.strictEqual((yield* Fiber.join(balance)).status, 200)
          assert.strictEqual((yield* Fiber.join(uncached)).status, 200)
        } else {
          nothingIsCharged(yield* Fiber.join(balance))
          nothingIsCharged(yield* Fiber.join(uncached))
        }
        yield* service.thaw
        yield* eventually(
          "the charge is committed",
          Effect.map(service.booksOf(one.account), ({ charged }) => Number(charged) === 1),
        )
        assert.deepStrictEqual(yield* charged(service, one), [
          String(undecided.headers["x-request-id"]),
        ])
        assert.deepStrictEqual(yield* charged(service, other), [])
        for (const [url, name] of [
          ["known.example.com", "a"],
          ["bought.example.com", "b"],
        ] as const) {
          assert.isFalse(isReplay(yield* again(post(service, other, url, name))))
        }
        assert.lengthOf(yield* charged(service, other), 2)
      }),
  )

  it.scopedLive(
    "a charge with an idempotency key during a database freeze is replayed for a repeat",
    () =>
      Effect.gen(function* () {
        const service = yield* startOn(database)
        const client = yield* service.newClient
        const request = post(service, client, "known.example.com", "a")
        yield* service.freeze
        const undecided = yield* Fiber.join(yield* service.underWay(request))
        isUnavailable(undecided)
        assert.include(undecided.text, "the same Idempotency-Key")
        yield* service.thaw
        assert.isTrue(isReplay(yield* again(request)))
        assert.deepStrictEqual(yield* charged(service, client), [
          String(undecided.headers["x-request-id"]),
        ])
      }),
  )

  it.scopedLive(
    "a hold that is opened during a database freeze is never charged, and is released afterwards",
    () =>
      Effect.gen(function* () {
        const service = yield* startOn(database)
        const client = yield* service.newClient
        const request = post(service, client, "bought.example.com", "a")
        yield* service.freeze
        nothingIsCharged(yield* Fiber.join(yield* service.underWay(request)))
        yield* service.thaw
        assert.deepStrictEqual(yield* charged(service, client), [])
        assert.isFalse(isReplay(yield* again(request)))
        assert.lengthOf(yield* charged(service, client), 1)
      }),
  )

  it.scopedLive(
    "a charge after the lookup may be committed when the database freezes during the lookup",
    () =>
      Effect.gen(function* () {
        const service = yield* startOn(database)
        const client = yield* service.newClient
        const undecided = yield* post(service, client, "freezing.example.com")
        isUndecided(undecided)
        yield* service.thaw
        yield* eventually(
          "the charge is committed",
          Effect.map(service.booksOf(client.account), ({ charged }) => Number(charged) === 1),
        )
        assert.deepStrictEqual(yield* charged(service, client), [
          String(undecided.headers["x-request-id"]),
        ])
        const named = yield* service.newClient
        isUnavailable(yield* post(service, named, "freezing.example.com", "a"))
        yield* service.thaw
        assert.isTrue(isReplay(yield* again(post(service, named, "freezing.example.com", "a"))))
        assert.lengthOf(yield* charged(service, named), 1)
        const free = yield* service.newClient
        nothingIsCharged(yield* post(service, free, "freezing.failing.example.com"))
        yield* service.thaw
        assert.deepStrictEqual(yield* charged(service, free), [])
      }),
  )
}

let server: Postgres.Server

beforeAll(async () => {
  server = await Postgres.start({ durable: false })
}, 60_000)

afterAll(() => server.destroy())

const stoppedPostgres = Effect.gen(function* () {
  const thaw = Effect.sync(() => server.thaw())
  const url = yield* newDatabaseOn(server.url)
  return {
    client: PostgresClient.layer(url),
    freeze: Effect.sync(() => server.freeze()),
    thaw,
  }
})

/** Lets the next COMMIT reach the server, and loses its answer. */
const silentCommit = Effect.gen(function* () {
  const proxy = yield* Proxy.make(yield* newDatabaseOn(server.url))
  return {
    client: PostgresClient.layer(proxy.url, { silenceMs: 3_000 }),
    freeze: Effect.sync(() => proxy.doom("silence")),
    thaw: Effect.void,
  }
})

/** `freeze` takes the write lock of the file with another connection. */
const lockedSqlite = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "authority.db")
  const sql = Context.get(yield* Layer.build(Sqlite.layer(file)), SqlClient.SqlClient)
  return {
    client: Sqlite.layer(file),
    freeze: Effect.orDie(sql`BEGIN IMMEDIATE`),
    // ROLLBACK fails when no transaction is open.
    thaw: Effect.ignore(sql`ROLLBACK`),
  }
})

describe("a locked SQLite file", () => suite(lockedSqlite, { reads: true }))

describe("a frozen PostgreSQL server", () => suite(stoppedPostgres, { reads: false }))

describe("a PostgreSQL server whose answer to a COMMIT is lost", () =>
  suite(silentCommit, { reads: true }))

describe("when the answer to a COMMIT is lost", () => {
  /**
   * After the lost answer, the next transaction fails too, so the service cannot find out whether
   * the COMMIT succeeded.
   */
  const startOnLossy = Effect.gen(function* () {
    const proxy = yield* Proxy.make(yield* newDatabaseOn(server.url))
    let isLost = false
    const lose = Effect.sync(() => {
      proxy.doom("answer lost")
      isLost = true
    })
    const service = yield* start({
      database: PostgresClient.layer(proxy.url),
      provider: knowing(
        (page) => (page.startsWith("known") ? checked() : undefined),
        (targets) => Effect.zipRight(lose, succeeding(targets)),
      ).layer,
      transactions: {
        around: (transaction) =>
          Effect.suspend(() => {
            if (!isLost || !proxy.isFulfilled()) return transaction
            isLost = false
            const cause = Object.assign(new Error("as scripted"), { code: "57014" })
            // The ledger's transactions fail with this error, but the generic type does not show it.
            return Effect.fail(new SqlError({ cause })) as never
          }),
      },
    })
    return { ...service, lose }
  })

  it.scopedLive("the answer to a request says whether its charge may have been committed", () =>
    Effect.gen(function* () {
      const service = yield* startOnLossy
      for (const page of ["known.example.com", "bought.example.com"]) {
        const client = yield* service.newClient(10)
        assert.strictEqual((yield* post(service, client, "localhost")).status, 200)
        const lose = page.startsWith("known") ? service.lose : Effect.void
        yield* lose
        const unnamed = yield* post(service, client, page)
        isUndecided(unnamed)
        yield* lose
        const request = post(service, client, page, "a")
        const named = yield* request
        isUnavailable(named)
        assert.include(named.text, "the same Idempotency-Key")
        assert.isTrue(isReplay(yield* again(request)))
        assert.deepStrictEqual(
          yield* charged(service, client),
          [unnamed, named].map(({ headers }) => String(headers["x-request-id"])),
        )
      }
    }),
  )
})
