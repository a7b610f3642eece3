/** Tests output that cannot be written: a verb fails, and the service continues. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { books, exited, folder, inDatabase, openAccount, serve, shell } from "../support/Program.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

/** The keys of an account, oldest first. */
const keysOf = (cwd: string, account = "acme") =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Accounts).find(account)
    return yield* (yield* ApiKeys).list(id)
  }).pipe(inDatabase(cwd))

describe("a CLI verb whose output cannot be written", () => {
  for (const args of [
    ["account", "list"],
    ["account", "create", "other", "--json"],
    ["credits", "statement", "--account", "acme"],
    ["openapi"],
    ["--help"],
  ]) {
    it.scopedLive(
      `a CLI verb fails and prints the reason when its output cannot be written: ${args.join(" ")}`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* folder
          yield* openAccount(cwd, 1)
          const full = yield* shell(cwd, "authority", args, "> /dev/full")
          assert.strictEqual(full.code, 1)
          assert.match(
            full.stderr,
            /^authority: stdout cannot be written: the disk is full; [^\n]*\n$/,
          )
        }),
    )
  }

  it.scopedLive(
    "a backup and a restore whose report cannot be written still say that they are done",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        yield* openAccount(cwd, 1)
        for (const [verb, done] of [
          ["backup", "the copy is made"],
          ["restore", "the database is restored"],
        ] as const) {
          const { code, stderr } = yield* shell(cwd, "authority", [verb, "copy.db"], "> /dev/full")
          assert.strictEqual(code, 1)
          assert.match(stderr, new RegExp(`^authority: [^\\n]+, although ${done}\n$`))
        }
      }),
  )

  it.scopedLive("a CLI verb fails when its output pipe is closed", () =>
    Effect.gen(function* () {
      const closed = yield* shell(yield* folder, "authority", ["openapi"], "| true")
      assert.strictEqual(closed.code, 1)
      assert.match(closed.stderr, /^authority: [^\n]+\n$/)
    }),
  )

  for (const [name, after] of [
    ["a full disk", "> /dev/full"],
    ["a closed pipe", "| true"],
  ] as const) {
    it.scopedLive(
      `after a new API key could not be printed because of ${name}, the message says how to revoke it`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* folder
          const former = yield* openAccount(cwd, 1)
          for (const args of [
            ["key", "create", "--account", "acme"],
            ["key", "rotate", former.id, "--grace", "1h", "--json"],
          ]) {
            const { code, stderr } = yield* shell(cwd, "authority", args, after)
            const created = (yield* keysOf(cwd)).at(-1)
            assert.strictEqual(code, 1)
            assert.match(stderr, /^authority: [^\n]+\n$/)
            assert.include(
              stderr,
              `the key was not shown; revoke it with 'authority key revoke ${created?.id}'`,
            )
          }
        }),
    )
  }
})

describe("the service when its log or its output cannot be written", () => {
  const debug = { AUTHORITY_LOG_LEVEL: "debug" }

  /** Sends requests, which must succeed. Each of them writes a line to the log. */
  const answers = (url: string, key: string) =>
    Effect.gen(function* () {
      for (let i = 0; i < 5; i++) {
        const { status } = yield* request(url, batch(key, '{"urls":["example.com"]}'))
        assert.strictEqual(status, 200)
        assert.strictEqual((yield* request(url, { path: "/health/live" })).status, 200)
      }
    })

  for (const args of [[], ["--json"]]) {
    it.scopedLive(
      `the service continues when the reader of its log is gone: ${["serve", ...args].join(" ")}`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* folder
          const { key } = yield* openAccount(cwd, 100)
          const running = yield* serve(cwd, debug, args)
          running.stopReading()
          yield* answers(running.url, key)
          running.signal("SIGTERM")
          assert.strictEqual(yield* exited(running), 0)
          assert.strictEqual((yield* books(cwd)).charged, 5)
        }),
    )
  }

  for (const redirection of ["2> /dev/full", "2>&-"]) {
    it.scopedLive(
      `the service continues when its log cannot be written: serve --json ${redirection}`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* folder
          const { key } = yield* openAccount(cwd, 100)
          const running = yield* serve(cwd, debug, ["--json"], redirection)
          yield* answers(running.url, key)
          running.signal("SIGTERM")
          assert.strictEqual(yield* exited(running), 0)
        }),
    )
  }

  it.scopedLive(
    "after the demo key could not be printed, the log says how to revoke it, and the service continues",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const running = yield* serve(cwd, {}, ["--json"], "> /dev/full")
        const [demo] = yield* keysOf(cwd, "demo")
        yield* eventually("the log says so", () =>
          running.stderr().includes(`authority key revoke ${demo?.id}`),
        )
        assert.strictEqual((yield* request(running.url, { path: "/health/live" })).status, 200)
      }),
  )
})
