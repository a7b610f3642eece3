/** Tests the service as a process, with a database on disk, signals and an HTTP client. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import {
  books,
  exited,
  folder,
  openAccount,
  run,
  serve,
  statement,
  verify,
} from "../support/Program.ts"
import { batch, creditsPath } from "../support/TestServer.ts"
import { document, verb } from "../support/Verb.ts"
import { listen } from "../../scripts/support/listen.ts"
import { connect, request } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const check = (url: string, key: string, ...urls: ReadonlyArray<string>) =>
  request(url, batch(key, JSON.stringify({ urls })))

const available = (url: string, key: string) =>
  Effect.map(
    request(url, { path: creditsPath, headers: { "x-api-key": key } }),
    ({ text }): number => JSON.parse(text).data.availableCredits,
  )

/** Returns the text of all files in the folder, including the write-ahead log. */
const filesOf = (cwd: string) =>
  readdirSync(cwd)
    .map((name) => readFileSync(join(cwd, name), "latin1"))
    .join("\n")

const keys = /am_[0-9A-Za-z]{49}/g

const hasCurl = () => {
  try {
    return execFileSync("curl", ["--version"]).length > 0
  } catch {
    return false
  }
}

/** Runs the printed curl line in the shell, or sends the same request where curl is missing. */
const paste = (line: string) => {
  if (hasCurl()) return Effect.sync(() => execFileSync("sh", ["-c", line]).toString())
  const [, url = "", key = "", body = ""] =
    /^curl -s (\S+) -H 'x-api-key: (\S+)' -H 'content-type: application\/json' -d '(.+)'$/.exec(
      line,
    ) ?? []
  return Effect.map(request(new URL(url).origin, batch(key, body)), ({ text }) => text)
}

describe("the first start", () => {
  it.scopedLive(
    "the first start prints a demo key and a working curl command, the second start prints no key",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const first = yield* serve(cwd)
        yield* eventually("the line is printed", () => /curl -s .+\n/.test(first.stdout()))
        const lines = first.stdout().split("\n")
        const line = lines.filter((text) => text.includes("curl -s ")).join("\n")
        const answer = JSON.parse(yield* paste(line.trim()))
        assert.isTrue(answer.success)
        assert.deepStrictEqual(
          answer.data.successUrls.map(({ url }: { readonly url: string }) => url),
          ["example.com", "https://www.wikipedia.org/wiki/Domain"],
        )
        assert.isNumber(answer.data.successUrls[0].domainAuthority)
        assert.deepStrictEqual(answer.data.failedUrls, [
          { url: "localhost", reason: "INVALID_URL" },
        ])
        assert.deepStrictEqual(answer.quota, { creditsUsed: 2 })

        const printed = first.stdout().match(keys) ?? []
        const [key = ""] = printed
        assert.deepStrictEqual(printed, [key, key])
        assert.include(first.stdout(), `\n  ${key}\n`)

        first.signal("SIGTERM")
        assert.strictEqual(yield* exited(first), 0)
        const second = yield* serve(cwd)
        assert.strictEqual(yield* available(second.url, key), 998)
        second.signal("SIGTERM")
        assert.strictEqual(yield* exited(second), 0)
        assert.isNull(second.stdout().match(keys))
      }),
  )

  it.scopedLive(
    "with a log in JSON, the first start prints no key; with a real provider later, the log says how to revoke the demo key",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const first = yield* serve(cwd, { AUTHORITY_LOG_FORMAT: "json" })
        yield* eventually("the start is logged", () => first.stdout().includes("Console: "))
        assert.isNull(first.stdout().match(keys))
        assert.include(first.stdout(), "'authority key create --account demo'")
        const made = yield* document(cwd, "key", "create", "--account", "demo")
        first.signal("SIGTERM")
        assert.strictEqual(yield* exited(first), 0)
        const moz = { AUTHORITY_PROVIDER: "moz", AUTHORITY_MOZ_TOKEN: "token" }
        const second = yield* serve(cwd, moz)
        const advice = `authority key revoke ${String(made.id)}`
        yield* eventually("the advice is logged", () => second.stdout().includes(advice))
        const doctor = yield* verb(cwd, ["doctor"], moz)
        assert.include(doctor.stdout, advice)
        yield* document(cwd, "key", "revoke", String(made.id))
        assert.notInclude((yield* verb(cwd, ["doctor"], moz)).stdout, advice)
      }),
  )

  it.scopedLive(
    "the first start with a real provider logs how to create an account, credits and a key",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const moz = { AUTHORITY_PROVIDER: "moz", AUTHORITY_MOZ_TOKEN: "token" }
        const first = yield* serve(cwd, moz)
        yield* eventually("the advice is logged", () => first.stdout().includes("no account"))
        const advised = [...first.stdout().matchAll(/'authority ([^']+)'/g)]
        assert.deepStrictEqual(
          advised.map(([, command]) => command),
          ["account create NAME --credits 1000", "key create --account NAME"],
        )
        for (const [, command = ""] of advised) {
          const { code, stderr } = yield* verb(cwd, command.split(" "))
          assert.strictEqual(code, 0, stderr)
        }
        const second = yield* serve(cwd, moz)
        yield* eventually("the start is logged", () => second.stdout().includes("Console: "))
        assert.notInclude(second.stdout(), "no account")
      }),
  )

  it.scopedLive(
    "serve --json prints one JSON document on stdout and writes its log to stderr",
    () =>
      Effect.gen(function* () {
        const running = yield* serve(yield* folder, {}, ["--json"])
        yield* eventually("the document is printed", () => running.stdout().endsWith("\n"))
        const document = JSON.parse(running.stdout())
        assert.deepStrictEqual(Object.keys(document), ["url", "provider", "demoKey"])
        assert.strictEqual(document.url, running.url)
        assert.strictEqual(yield* available(running.url, document.demoKey), 1000)
        assert.notInclude(running.stderr(), document.demoKey)
        running.signal("SIGINT")
        assert.strictEqual(yield* exited(running), 0)
        assert.deepStrictEqual(JSON.parse(running.stdout()), document)
      }),
  )
})

describe("the ledger on disk", () => {
  it.scopedLive(
    "with the database on disk, forty concurrent requests spend exactly the account's twenty credits",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 20)
        const { url } = yield* serve(cwd)
        const answers = yield* Effect.all(
          Array.from({ length: 40 }, (_, i) => check(url, key, `site-${i}.example.com`)),
          { concurrency: "unbounded" },
        )
        const count = (status: number) =>
          answers.filter((answer) => answer.status === status).length
        assert.deepStrictEqual([count(200), count(402)], [20, 20])
        assert.strictEqual(yield* available(url, key), 0)
        assert.deepStrictEqual(yield* books(cwd), {
          available: 0,
          held: 0,
          granted: 20,
          charged: 20,
        })
        assert.deepStrictEqual(yield* verify(cwd), { accounts: 1, entries: 21, problems: [] })
        assert.sameMembers(
          (yield* statement(cwd)).slice(1).map(({ requestId }) => String(requestId)),
          answers
            .filter(({ status }) => status === 200)
            .map(({ headers }) => String(headers["x-request-id"])),
        )
      }),
  )

  it.scopedLive("neither the database files nor the log contain an API key in clear text", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const { key } = yield* openAccount(cwd, 5)
      const running = yield* serve(cwd, { AUTHORITY_LOG_LEVEL: "trace" })
      assert.strictEqual((yield* check(running.url, key, "example.com")).status, 200)
      assert.strictEqual((yield* check(running.url, `${key}x`, "example.com")).status, 401)
      assert.isNull((running.stdout() + running.stderr()).match(keys))
      const files = filesOf(cwd)
      assert.include(files, "acme")
      assert.isNull(files.match(keys))
      assert.notInclude(files, key.slice(10))
    }),
  )

  it.scopedLive(
    "credits held when the service is killed stay held after a restart and are not charged",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 10)
        const first = yield* serve(cwd)
        assert.strictEqual((yield* check(first.url, key, "example.com")).status, 200)
        const slow = ["slow.example.com", "example.org"]
        const client = yield* Effect.fork(Effect.exit(check(first.url, key, ...slow)))
        yield* eventually(
          "the credits are held",
          Effect.map(available(first.url, key), (left) => left === 7),
        )
        first.signal("SIGKILL")
        yield* exited(first)
        assert.isTrue(Exit.isFailure(yield* Fiber.join(client)))

        const second = yield* serve(cwd)
        assert.strictEqual(yield* available(second.url, key), 7)
        assert.deepStrictEqual(yield* books(cwd), {
          available: 7,
          held: 2,
          granted: 10,
          charged: 1,
        })
        assert.deepStrictEqual((yield* verify(cwd)).problems, [])
        assert.strictEqual((yield* check(second.url, key, "example.com")).status, 200)
      }),
  )
})

describe("CLI verbs while a service runs", () => {
  it.scopedLive(
    "a running service sees that other processes grant credits and revoke an API key",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { url } = yield* serve(cwd)
        const { key } = yield* openAccount(cwd, 1)
        assert.strictEqual(yield* available(url, key), 1)
        yield* document(cwd, "credits", "grant", "--account", "acme", "--amount", "4")
        assert.strictEqual(yield* available(url, key), 5)
        // The service keeps a key that was used in its cache for a few seconds (see CachedApiKeys).
        const { id, key: unused } = yield* document(cwd, "key", "create", "--account", "acme")
        yield* document(cwd, "key", "revoke", id)
        assert.strictEqual((yield* check(url, unused, "localhost")).status, 401)
      }),
  )

  it.scopedLive(
    "the database of a running service can be backed up, and the service logs the signal that stops it",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 100)
        const running = yield* serve(cwd, {
          AUTHORITY_LOG_LEVEL: "debug",
          AUTHORITY_PROT: "80",
          AUTHORITY_ADMIN_PORT: "0",
        })
        yield* request(running.url, batch(key, '{"urls":["example.com"]}'))
        const copied = yield* document(cwd, "backup", "copy.db")
        assert.deepInclude(copied, { file: "copy.db", accounts: 1, entries: 2 })
        const again = yield* verb(cwd, ["backup", "copy.db"])
        assert.strictEqual(again.code, 1)
        assert.match(
          again.stderr,
          /^authority: copy\.db cannot be written: it exists already[^\n]*\n$/,
        )
        const settings = { AUTHORITY_DATABASE_URL: "sqlite:copy.db" }
        const verified = yield* verb(cwd, ["credits", "verify", "--json"], settings)
        assert.strictEqual(JSON.parse(verified.stdout).ok, true)

        running.signal("SIGUSR1")
        yield* request(running.url, batch(key, '{"urls":["example.com"]}'))
        assert.notInclude(running.stderr(), "Debugger")
        running.signal("SIGHUP")
        assert.strictEqual(yield* exited(running), 0)
        const lines = running.stdout().trimEnd().split("\n")
        const messages = lines.map((line) => JSON.parse(line).message)
        assert.include(
          messages,
          "The setting AUTHORITY_PROT is unknown and has no effect. Did you mean AUTHORITY_PORT?",
        )
        assert.isTrue(
          messages.some((message) => message.startsWith("AUTHORITY_ADMIN_PORT has no effect")),
        )
        assert.deepStrictEqual(messages.slice(-2), [
          "Stopping, because of SIGHUP. Requests in flight have 10s to finish.",
          "Stopped.",
        ])
        for (const line of lines) assert.notMatch(line, /\{\}|null|""/)
      }),
  )

  it.scopedLive(
    "serve on a port in use fails with one line and exit code 1, and prints no key",
    () =>
      Effect.gen(function* () {
        const { port } = new URL(yield* listen(createServer()))
        const settings = { AUTHORITY_PORT: port }
        const { code, stderr, stdout } = yield* run(yield* folder, ["serve"], settings)
        assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
        assert.match(
          stderr,
          /^authority: cannot listen on .+: another program uses this port; .+\n$/,
        )
      }),
  )
})

describe("a service that gets a stop signal", () => {
  it.scopedLive(
    "a service that gets SIGTERM answers and charges the requests in flight, and exits with 0",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 100)
        const running = yield* serve(cwd, { AUTHORITY_REQUEST_TIMEOUT: "4s" })
        const clients = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 20 }, () =>
              check(running.url, key, "example.com", "slow.example.com"),
            ),
            { concurrency: "unbounded" },
          ),
        )
        yield* eventually(
          "all requests are in flight",
          Effect.map(available(running.url, key), (left) => left === 60),
        )
        running.signal("SIGTERM")
        for (const { status, text } of yield* Fiber.join(clients)) {
          assert.strictEqual(status, 200)
          assert.strictEqual(JSON.parse(text).quota.creditsUsed, 1)
        }
        assert.strictEqual(yield* exited(running), 0)
        assert.strictEqual(running.stderr(), "")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(available(running.url, key))))
        assert.deepStrictEqual(yield* books(cwd), {
          available: 80,
          held: 0,
          granted: 100,
          charged: 20,
        })
      }),
  )

  it.scopedLive(
    'a stopping service refuses new connections and reports "draining" on open ones',
    () =>
      Effect.gen(function* () {
        const running = yield* serve(yield* folder)
        const asked = yield* connect(running.url)
        asked.send("GET /health/ready HTTP/1.1\r\n")
        yield* request(running.url, { path: "/health/live" })
        running.signal("SIGTERM")
        yield* eventually(
          "new connections are refused",
          Effect.map(Effect.exit(Effect.scoped(connect(running.url))), Exit.isFailure),
        )
        asked.send("Host: here\r\n\r\n")
        yield* eventually("the connection is closed", asked.isClosed)
        assert.match(asked.received(), /^HTTP\/1\.1 503 /)
        assert.include(asked.received(), '"server":"draining"')
        assert.strictEqual(yield* exited(running), 0)
      }),
  )

  it.scopedLive(
    "a stopping service aborts a request after the shutdown timeout and does not charge it",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 5)
        const running = yield* serve(cwd, { AUTHORITY_SHUTDOWN_TIMEOUT: "100ms" })
        const client = yield* Effect.fork(Effect.exit(check(running.url, key, "slow.example.com")))
        yield* eventually(
          "the request is in flight",
          Effect.map(available(running.url, key), (left) => left === 4),
        )
        running.signal("SIGTERM")
        assert.isTrue(Exit.isFailure(yield* Fiber.join(client)))
        assert.strictEqual(yield* exited(running), 0)
        assert.deepInclude(yield* books(cwd), { granted: 5, charged: 0 })
        assert.deepStrictEqual((yield* verify(cwd)).problems, [])
      }),
  )
})
