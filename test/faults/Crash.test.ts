/** Tests what happens to charges and holds when processes are killed or frozen. */
import { writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { crash } from "../../scripts/crash.ts"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figures, problemsOf } from "../../scripts/support/ledger.ts"
import { toEnd } from "../support/BulkCheck.ts"
import { bundle, exited, folder, serve } from "../support/Program.ts"
import { postgresDatabase, sqliteFile, temporaryDatabase } from "../support/Stores.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

/** A few rounds of `scripts/crash.ts`, which runs two hundred by default. */
describe("a service that is killed under load", () => {
  for (const database of ["sqlite", "postgres"] as const) {
    it.concurrent(`kill -9 under load loses no charge on ${database}`, async () => {
      const counts = await crash({ rounds: 3, database, program: bundle })
      assert.isAtLeast(counts.kills, 3)
      assert.isAbove(counts.atOnce, 0)
    })
  }
})

/**
 * Makes leases last 30 seconds. There is no cache, so no process waits for another one's purchase.
 */
const short = {
  AUTHORITY_REQUEST_TIMEOUT: "15s",
  AUTHORITY_PROVIDER_TIMEOUT: "15s",
  AUTHORITY_CACHE_TTL: "0s",
}

/** Creates an account with an API key, and starts processes of the program that serve it. */
const world = (database: "sqlite" | "postgres") =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const url =
      database === "sqlite"
        ? `sqlite:${cwd}/authority.db`
        : Redacted.value(yield* temporaryDatabase)
    const stores = yield* Layer.build(
      database === "sqlite"
        ? sqliteFile(`${cwd}/authority.db`)
        : postgresDatabase(Redacted.make(url)),
    )
    const account = yield* Effect.provide(newAccountWith(10), stores)
    const issued = yield* Context.get(stores, ApiKeys).issue({ account })
    const moz = yield* FakeMoz.make
    const settings = { AUTHORITY_DATABASE_URL: url, ...FakeMoz.settings(moz.url), ...short }
    const check = (serviceUrl: string, host: string, idempotencyKey?: string) =>
      request(
        serviceUrl,
        batch(
          Redacted.value(issued.key),
          JSON.stringify({ urls: [host] }),
          idempotencyKey === undefined ? {} : { "idempotency-key": `"${idempotencyKey}"` },
        ),
      )
    /**
     * Repeats the request after the Retry-After of each 409, and returns the first other answer.
     */
    const persist = (serviceUrl: string, host: string, idempotencyKey: string) =>
      Effect.gen(function* () {
        for (;;) {
          const answer = yield* check(serviceUrl, host, idempotencyKey)
          if (answer.status !== 409) return answer
          assert.strictEqual(answer.headers["retry-after"], "1")
          yield* Effect.sleep(1000)
        }
      })
    return {
      cwd,
      key: Redacted.value(issued.key),
      moz,
      check,
      persist,
      serve: serve(cwd, settings),
      serveAgain: (former: string) =>
        serve(cwd, { ...settings, AUTHORITY_PORT: new URL(former).port }),
      books: Effect.provide(figures(account), stores),
      problems: Effect.provide(problemsOf(account), stores),
    }
  })

for (const database of ["sqlite", "postgres"] as const) {
  describe(`a process that dies or freezes on ${database}`, () => {
    it.scopedLive(
      "after a process was killed, the default client and the command line collect their answers, charged once",
      () =>
        Effect.gen(function* () {
          const { books, cwd, key, moz, problems, serve, serveAgain } = yield* world(database)
          moz.always(FakeVendor.hang)
          const first = yield* serve
          const { check } = AuthorityMetrics({ baseUrl: first.url, apiKey: key })
          writeFileSync(`${cwd}/list.txt`, "two.example.com\n")
          const command = ["check", "list.txt", "--key", key, "--url", first.url]
          const client = yield* Effect.fork(Effect.promise(() => check(["one.example.com"])))
          const verb = yield* Effect.fork(toEnd(cwd, command))
          yield* eventually(
            "both requests hold their credits",
            Effect.map(books, ({ held }) => held === 2),
          )
          first.signal("SIGKILL")
          yield* exited(first)
          moz.always(undefined)

          yield* serveAgain(first.url)
          assert.deepInclude(yield* books, { charged: 0, held: 2 })
          assert.deepInclude(yield* Fiber.join(client), { creditsUsed: 1 })
          assert.deepInclude(yield* Fiber.join(verb), { code: 0 })
          // A repeated request may take over the key before the next sweep returns the credits.
          yield* eventually(
            "the holds are released",
            Effect.map(books, ({ held }) => held === 0),
          )
          assert.deepInclude(yield* books, { charged: 2, available: 8 })
          assert.deepStrictEqual(yield* problems, [])
        }),
      120_000,
    )

    it.scopedLive(
      "a process that was frozen cannot charge a hold that another process released",
      () =>
        Effect.gen(function* () {
          const { books, check, moz, persist, problems, serve } = yield* world(database)
          const { fault, release, waiting } = FakeVendor.held()
          moz.script(fault)
          const [frozen, other] = yield* Effect.all([serve, serve])
          const late = yield* Effect.fork(check(frozen.url, "one.example.com", "order-1"))
          yield* eventually("the provider is asked", () => waiting.length === 1)
          frozen.signal("SIGSTOP")
          const answer = yield* persist(other.url, "one.example.com", "order-1")
          assert.strictEqual(answer.status, 200, answer.text)

          frozen.signal("SIGCONT")
          release()
          const failed = yield* Fiber.join(late)
          assert.include([500, 503], failed.status)
          assert.isFalse(JSON.parse(failed.text).success)
          assert.deepInclude(yield* books, { charged: 1, held: 0 })
          assert.strictEqual((yield* check(frozen.url, "two.example.com", "order-2")).status, 200)
          const replay = yield* check(frozen.url, "one.example.com", "order-1")
          assert.strictEqual(replay.headers["idempotent-replayed"], "true")
          assert.strictEqual(replay.text, answer.text)
          assert.deepInclude(yield* books, { charged: 2, held: 0 })
          assert.deepStrictEqual(yield* problems, [])
          yield* eventually(
            "the service is ready",
            Effect.map(
              request(frozen.url, { path: "/health/ready" }),
              ({ status }) => status === 200,
            ),
          )
        }),
      120_000,
    )
  })
}
