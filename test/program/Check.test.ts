/**
 * Tests the bulk check `authority check`: stopping, resuming and failing output. A run that is
 * stopped from outside is a separate process; every other run is in the test's process.
 */
import { spawn } from "node:child_process"
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Credits } from "../../src/ledger/Credits.ts"
import type { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { csv, finished, project, rowsOf, spending, timeout, toEnd } from "../support/BulkCheck.ts"
import type { Scope } from "../../src/accounts/Scope.ts"
import { bundle, shell, start, stateFolder } from "../support/Program.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { start as startServer } from "../support/TestServer.ts"
import { verb } from "../support/Verb.ts"
import { eventually } from "../support/eventually.ts"

/** Starts a service in the test's process, which is faster than starting the program. */
const service = (credits: number, provider?: Layer.Layer<MetricsProvider>) =>
  Effect.gen(function* () {
    const server = yield* startServer({ credits, ...(provider !== undefined && { provider }) })
    const { account, keyId, keys, ledger } = server
    return {
      ...(yield* project(server.url, server.key)),
      url: server.url,
      key: server.key,
      spent: spending(
        credits,
        Effect.map(server.books, ({ available }) => available),
      ),
      books: server.books,
      grant: (more: number) => ledger.grant(account, Credits.make(more), null),
      revoke: keys.revoke(keyId),
      suspend: server.accounts.suspend(account),
      issueKey: (scopes?: ReadonlyArray<Scope>) =>
        Effect.map(keys.issue({ account, scopes }), ({ key }) => Redacted.value(key)),
    }
  })

/** Checks that a run has left only its output and the answers. */
const expectNothingLeft = (cwd: string) =>
  assert.deepStrictEqual(
    readdirSync(cwd).filter((name) => name.includes("partial")),
    [],
  )

describe("a bulk check that is stopped", () => {
  it.scopedLive(
    "a bulk check of a file or stdin exits with 1 on Ctrl-C and explains how to resume",
    () =>
      Effect.gen(function* () {
        const { books, cwd, key, spent, url } = yield* service(20_000)
        const urls = Array.from({ length: 2000 }, (_, i) => `site${i}.example.com`)
        const args = ["check", "-", "--url", url, "--output", "out.ndjson"]
        const first = fed(cwd, args, key, urls)
        yield* spent(500)
        first.child.kill("SIGINT")
        const stopped = yield* first.end
        assert.strictEqual(stopped.code, 1)
        assert.match(
          stopped.stderr,
          /authority: stopped; to resume, run the same command with the same input/,
        )
        const done = yield* fed(cwd, args, key, urls).end
        assert.strictEqual(done.code, 0, done.stderr)
        const lines = readFileSync(join(cwd, "out.ndjson"), "utf8").trimEnd().split("\n")
        assert.deepStrictEqual(
          lines.map((line) => JSON.parse(line).url),
          urls,
        )
        assert.strictEqual((yield* books).charged, 2000)
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check with --json ends its document on Ctrl-C",
    () =>
      Effect.gen(function* () {
        const { args, cwd, list, spent } = yield* service(20_000)
        list(Array.from({ length: 2000 }, (_, i) => `site${i}.example.com`))
        for (const [more, paid] of [
          [[], 300],
          [["--output", "out.csv"], 700],
        ] as const) {
          const running = yield* start(cwd, [...args, "--json", ...more])
          yield* spent(paid)
          running.signal("SIGINT")
          assert.strictEqual(yield* finished(running), 1)
          assert.match(running.stderr(), /authority: stopped; to resume, run the same command\n$/)
          const { outcomes, summary } = JSON.parse(running.stdout())
          assert.deepInclude(summary, { complete: false, urls: 2000 })
          if (more.length === 0) assert.lengthOf(outcomes, summary.succeeded)
          assert.isAtLeast(summary.succeeded, paid)
          assert.strictEqual(summary.left, 2000 - summary.succeeded)
        }
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check without credits reports how many URLs are left, and resumes after a grant",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, grant, list } = yield* service(1025)
        list(Array.from({ length: 2000 }, (_, i) => `site${i}.example.com`))
        const stopped = yield* verb(cwd, [...args, "--json"])
        assert.strictEqual(stopped.code, 1)
        assert.match(
          stopped.stderr,
          /^authority: the account is out of credits: [^\n]+; 975 URLs left; to resume, run the same command\n$/m,
        )
        const { outcomes, summary } = JSON.parse(stopped.stdout)
        assert.deepInclude(summary, { complete: false, succeeded: 1025, left: 975 })
        assert.lengthOf(outcomes, 1025)
        assert.strictEqual((yield* books).charged, 1025)
        yield* grant(1000)
        const done = yield* verb(cwd, [...args, "--json"])
        assert.strictEqual(done.code, 0, done.stderr)
        assert.lengthOf(JSON.parse(done.stdout).outcomes, 2000)
        assert.strictEqual((yield* books).charged, 2000)
        expectNothingLeft(cwd)
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check with a key that may not read cannot tell the price, and ends if the account is suspended",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, issueKey, list, suspend } = yield* service(10)
        list(["example.com"])
        const withKey = (key: string) => args.map((arg, i) => (args[i - 1] === "--key" ? key : arg))
        const blind = withKey(yield* issueKey(["check"]))
        const limited = yield* verb(cwd, [...blind, "--max-credits", "5"])
        assert.strictEqual(limited.code, 1)
        assert.include(limited.stderr, "the service does not name its price, and --max-credits is")
        for (const _ of [1, 2]) assert.strictEqual((yield* verb(cwd, blind)).code, 0)
        assert.strictEqual((yield* books).charged, 1)
        yield* suspend
        const suspended = yield* verb(cwd, withKey(yield* issueKey()))
        assert.match(suspended.stderr, /^authority: The account is suspended; .*ask the operator/m)
      }),
  )

  it.scopedLive(
    "a bulk check whose API key was revoked resumes with another key",
    () =>
      Effect.gen(function* () {
        const gate = yield* Effect.makeLatch()
        let batches = 0
        const provider = make((targets) =>
          Effect.zipRight(++batches > 2 ? gate.await : Effect.void, succeeding(targets)),
        )
        const { args, books, cwd, issueKey, key, list, revoke, spent } = yield* service(
          20_000,
          provider.layer,
        )
        const urls = Array.from({ length: 1000 }, (_, i) => `site${i}.example.com`)
        list(urls)
        const running = yield* start(cwd, args)
        yield* spent(100)
        yield* revoke
        yield* gate.open
        yield* finished(running)
        assert.match(
          running.stderr(),
          /^authority: the service rejects the key; set [^\n]+; \d+ URLs left; to resume, run the same command\n$/m,
        )
        assert.isBelow((yield* books).charged, 1000)
        const another = yield* issueKey()
        const done = yield* verb(
          cwd,
          args.map((word) => (word === key ? another : word)),
        )
        assert.strictEqual(done.code, 0, done.stderr)
        assert.strictEqual((yield* books).charged, 1000)
      }),
    timeout,
  )
})

describe("the files of a bulk check", () => {
  it.scopedLive(
    "the CSV output keeps the list's own columns before the figures, unless only the URL is requested",
    () =>
      Effect.gen(function* () {
        const { args, cwd, read } = yield* service(100)
        writeFileSync(
          join(cwd, "list.txt"),
          "Nr;Seite\n1;example.com\n2;localhost\n1;example.com\n",
        )
        const output = ["--output", "out.csv", "--delimiter", ";"]
        const done = yield* verb(cwd, [...args, ...output])
        assert.strictEqual(done.code, 0, done.stderr)
        const [header = "", first = "", second = "", third] = read("out.csv").split("\n")
        assert.match(header, /^\uFEFFNr;Seite;domainAuthority;.*;detail$/)
        assert.match(first, /^1;example\.com;\d/)
        assert.match(second, /^2;localhost;;;;INVALID_URL;/)
        assert.strictEqual(third, first)
        const toStdout = ["--output", "-", "--format", "tsv"]
        const alone = yield* verb(cwd, [...args, "--columns", "url", ...toStdout])
        assert.match(alone.stdout, /^url\tdomainAuthority\t.*\nexample\.com\t\d/)
      }),
    timeout,
  )

  it.scopedLive(
    "an output format that cannot be written is refused, and nothing is charged",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, list } = yield* service(100)
        list(["example.com"])
        const { code, stderr } = yield* verb(cwd, [...args, "--output", "out.xlsx"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /^authority: the output out\.xlsx has an extension [^\n]+\n$/)
        assert.strictEqual((yield* books).charged, 0)
        expectNothingLeft(cwd)
        const letter = yield* verb(cwd, [...args, "--delimiter", "x"])
        assert.strictEqual(letter.code, 2)
      }),
    timeout,
  )
})

/**
 * Checks lists of the same 199 addresses under other names, in another order, and through a pipe.
 */
describe("what a bulk check has paid for", () => {
  it.scopedLive(
    "a bulk check does not pay again for a renamed, moved, piped, shuffled, split or grown list",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, key, list, url } = yield* service(1000)
        const urls = Array.from({ length: 199 }, (_, i) => `site${i}.example.com`)
        list(urls)
        assert.strictEqual((yield* verb(cwd, [...args, "--output", "out.csv"])).code, 0)
        const files = {
          "dl (1).csv": `url\n${urls.join("\n")}\n`,
          "shuffled.txt": urls.toReversed().join("\n"),
          "half.txt": urls.slice(100).join("\n"),
          "spelled.txt": urls.map((site) => `HTTPS://${site}/#top`).join("\n"),
        }
        for (const [name, text] of Object.entries(files)) {
          writeFileSync(join(cwd, name), text)
          const { code, stderr } = yield* verb(cwd, [...args.with(1, name), "--max-credits", "0"])
          assert.strictEqual(code, 0, stderr)
        }
        const piped = yield* shell(cwd, "cat list.txt | authority", [
          "check",
          "-",
          "--key",
          key,
          "--url",
          url,
          "--format",
          "csv",
        ])
        assert.lengthOf(rowsOf(piped.stdout), 199)
        assert.strictEqual((yield* books).charged, 199)
        list([...urls, "new.example.com"])
        const grown = yield* verb(cwd, [...args, "--json"])
        assert.deepStrictEqual(JSON.parse(grown.stdout).summary, {
          complete: true,
          urls: 200,
          succeeded: 200,
          failed: {},
          creditsUsed: 1,
          left: 0,
        })
        assert.include(
          grown.stderr,
          "200 addresses: 199 answered today (0 credits), 1 to check, at most 1 credit; the account has 801.",
        )
        const again = yield* verb(cwd, [...args, "--again", "--max-credits", "200"])
        assert.strictEqual(again.code, 0, again.stderr)
        assert.strictEqual((yield* books).charged, 400)
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check keeps its answers in one file that only its user can read, without the key",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, key, list } = yield* service(100)
        writeFileSync(join(cwd, "list.txt"), "url,note\nexample.com,private\n")
        assert.strictEqual((yield* verb(cwd, args)).code, 0)
        const folder = join(stateFolder(cwd), "authority")
        assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
        for (const name of readdirSync(folder)) {
          assert.strictEqual(statSync(join(folder, name)).mode & 0o777, 0o600)
          const text = readFileSync(join(folder, name), "latin1")
          assert.isFalse(text.includes(key) || text.includes("private"))
        }
        list(["example.com"])
        for (const answers of ["none", "other.db", "other.db"])
          assert.strictEqual((yield* verb(cwd, [...args, "--answers", answers])).code, 0)
        assert.strictEqual((yield* books).charged, 3)
      }),
  )

  it.scopedLive("two bulk checks of one list at the same time pay for each target once", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { args, books, cwd, list } = yield* service(1000, provider.layer)
      list(Array.from({ length: 300 }, (_, i) => `site${i}.example.com`))
      const first = yield* start(cwd, [...args, "--output", "a.csv"])
      yield* eventually("the provider is asked", () => provider.calls.length > 0)
      const second = yield* start(cwd, [...args, "--output", "b.csv"])
      yield* eventually("the second run has its plan", () => second.stderr().includes("300 addr"))
      yield* gate.open
      for (const running of [first, second])
        assert.strictEqual(yield* finished(running), 0, running.stderr())
      assert.deepStrictEqual(csv(cwd, "a.csv"), csv(cwd, "b.csv"))
      assert.strictEqual((yield* books).charged, 300)
      assert.strictEqual(provider.calls.flat().length, 300)
    }),
  )
})

describe("a bulk check that cannot start", () => {
  it.scopedLive(
    "a bulk check with a wrong key or address fails with one line and makes no file",
    () =>
      Effect.gen(function* () {
        const { cwd, key, list, url } = yield* service(10)
        list(["example.com"])
        const refused = yield* verb(cwd, ["check", "list.txt", "--key", "am_x", "--url", url])
        const nobody = ["check", "list.txt", "--key", key, "--url", "http://127.0.0.1:2"]
        const unreachable = yield* verb(cwd, nobody)
        assert.deepStrictEqual([refused.code, unreachable.code], [1, 1])
        assert.match(refused.stderr, /^authority: the service rejects the key; set [^\n]+\n$/)
        assert.match(
          unreachable.stderr,
          /^authority: No connection to the service: [^\n]+ \(http:\S+\); check [^\n]+\n$/,
        )
        assert.strictEqual(refused.stdout + unreachable.stdout, "")
        expectNothingLeft(cwd)
        const usage = yield* verb(cwd, ["check", "list.txt", "--url", url])
        assert.deepStrictEqual([usage.code, usage.stderr.includes("--key")], [2, true])
      }),
    timeout,
  )
})

describe("the output of the bulk check", () => {
  it.scopedLive(
    "a bulk check with an output path that cannot be written fails before any charge",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, list, read } = yield* service(100)
        list(["example.com"])
        symlinkSync("list.txt", join(cwd, "link.txt"))
        for (const name of ["nowhere/out.csv", "/dev/null", ".", "list.txt", "link.txt"]) {
          const { code, stderr } = yield* verb(cwd, [...args, "--output", name])
          assert.strictEqual(code, 1, name)
          assert.match(stderr, /^authority: [^\n]+\n$/)
        }
        const same = [...args, "--format", "csv", "--answers"]
        for (const more of [["j", "-o", "./j"], ["list.txt"], ["link.txt"]]) {
          const { code, stderr } = yield* verb(cwd, [...same, ...more])
          assert.strictEqual(code, 1, stderr)
          assert.match(stderr, /^authority: the \w+ \S+ would overwrite the [^\n]+\n$/)
        }
        assert.strictEqual(read("list.txt"), "example.com\n")
        assert.strictEqual((yield* books).charged, 0)
        expectNothingLeft(cwd)
      }),
    timeout,
  )

  it.scopedLive(
    "a bulk check does not write through a link in place of its answers or its partial output",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, list, read } = yield* service(100)
        list(["example.com"])
        writeFileSync(join(cwd, "precious"), "precious")
        for (const target of ["precious", "nothing"]) {
          for (const link of ["out.csv.partial", "answers"]) {
            symlinkSync(target, join(cwd, link))
            const { code, stderr } = yield* verb(cwd, [
              ...args,
              "-o",
              "out.csv",
              "--answers",
              "answers",
            ])
            assert.strictEqual(code, 1, link)
            assert.match(stderr, /^authority: [^\n]+ is a symbolic link; delete [^\n]+\n$/)
            assert.include(stderr, link)
            unlinkSync(join(cwd, link))
            for (const name of ["out.csv.partial", "answers"])
              rmSync(join(cwd, name), { force: true })
          }
        }
        assert.strictEqual(read("precious"), "precious")
        assert.isFalse(existsSync(join(cwd, "nothing")))
        assert.strictEqual((yield* books).charged, 0)
        expectNothingLeft(cwd)
      }),
    timeout,
  )

  it.scopedLive(
    "a closed output pipe or a full disk stops a bulk check, and no paid outcome is lost",
    () =>
      Effect.gen(function* () {
        const { args, books, cwd, key, list } = yield* service(20_000)
        const urls = Array.from({ length: 2000 }, (_, i) => `site${i}.example.com`)
        list(urls)
        const left = yield* shell(cwd, "authority", args, "| head -n 2")
        assert.lengthOf(left.stdout.trimEnd().split("\n"), 2)
        assert.match(
          left.stderr,
          /authority: the output pipe was closed; to resume, run the same command/,
        )
        const full = yield* shell(cwd, "ulimit -f 40; authority", [
          ...args,
          "--output",
          "out.csv",
          "--answers",
          "full.db",
        ])
        assert.match(full.stderr, /^authority: [^\n]+; to resume, run the same command\n$/m)
        assert.notInclude(full.stderr, key)
        const paid = (yield* books).charged
        const done = yield* toEnd(cwd, [...args, "--output", "out.csv"])
        assert.strictEqual(done.code, 0, done.stderr)
        assert.lengthOf(csv(cwd, "out.csv"), 2000)
        assert.isAtMost((yield* books).charged, paid + 2000)
        expectNothingLeft(cwd)
      }),
    timeout,
  )
})

/** Runs the program with these lines on its standard input, which then closes. */
const fed = (
  cwd: string,
  args: ReadonlyArray<string>,
  key: string,
  lines: ReadonlyArray<string>,
) => {
  const child = spawn(process.execPath, [bundle, ...args], {
    cwd,
    env: {
      PATH: process.env["PATH"],
      AUTHORITY_API_KEY: key,
      XDG_STATE_HOME: stateFolder(cwd),
    },
  })
  let stderr = ""
  child.stderr.on("data", (text: Buffer) => (stderr += text.toString()))
  child.stdin.on("error", () => {})
  child.stdin.end(lines.join("\n"))
  const end = Effect.async<{ readonly code: number | null; readonly stderr: string }>((resume) => {
    child.on("close", (code) => resume(Effect.succeed({ code, stderr })))
  })
  return { child, end }
}
