/**
 * Tests that `authority check` pays for each target of a list once, whatever happens between one
 * run and the next.
 */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { csv, project, timeout, toEnd } from "../support/BulkCheck.ts"
import { fixtures } from "../support/lists.ts"
import { bundle, exited, shell, start, stateFolder } from "../support/Program.ts"
import { start as startServer } from "../support/TestServer.ts"
import { verb } from "../support/Verb.ts"

const service = (options: Parameters<typeof startServer>[0] = {}) =>
  Effect.gen(function* () {
    const server = yield* startServer({ credits: 20_000, ...options })
    const { charges } = server
    return {
      ...(yield* project(server.url, server.key)),
      url: server.url,
      key: server.key,
      /** The sum of the charges in the account's statement. */
      paid: Effect.map(charges, (entries) =>
        entries.reduce((sum, { amount }) => sum + Number(amount), 0),
      ),
    }
  })

const sites = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `site${from + i}.example.com`)

/** Changes the store as if a run two days ago had got none of its answers. */
const loseAnswers = (cwd: string) => {
  const store = new DatabaseSync(join(stateFolder(cwd), "authority", "answers.db"))
  store.exec(`INSERT INTO pending (key, service, account, owner, text)
    SELECT target, service, account, 'gone', json_object('key', target, 'owner', 'gone',
      'sentAt', at - ${2 * 24 * 60 * 60 * 1000},
      'items', json_array(json_object('url', url, 'target', target))) FROM answers`)
  store.exec("DELETE FROM answers")
  store.close()
}

describe("a list that is checked more than once", () => {
  it.scopedLive(
    "targets whose answers were lost yesterday are paid for again only with the user's consent",
    () =>
      Effect.gen(function* () {
        const { args, cwd, list, paid } = yield* service({ price: 2 })
        list(sites(120))
        assert.strictEqual((yield* verb(cwd, args)).code, 0)
        loseAnswers(cwd)
        const asked = yield* verb(cwd, args)
        assert.strictEqual(asked.code, 1)
        assert.include(
          asked.stderr,
          "authority: 120 addresses were sent more than 23 hours ago without an answer and may be charged a second time (up to 240 credits), because the service keeps answers for a day; add --yes to go on. Nothing was checked\n",
        )
        assert.strictEqual(yield* paid, 240)
        const limited = yield* verb(cwd, [...args, "--yes", "--max-credits", "239"])
        assert.strictEqual(limited.code, 1)
        assert.strictEqual(yield* paid, 240)
        const done = yield* verb(cwd, [...args, "--yes"])
        assert.strictEqual(done.code, 0, done.stderr)
        assert.strictEqual(yield* paid, 480)
        const again = yield* verb(cwd, args)
        assert.deepStrictEqual([again.code, yield* paid], [0, 480])
      }),
  )

  it.scopedLive(
    "on a terminal, the user can leave out the addresses that may be charged twice",
    () =>
      Effect.gen(function* () {
        const { args, cwd, list, paid } = yield* service()
        list(sites(60))
        assert.strictEqual((yield* verb(cwd, args)).code, 0)
        loseAnswers(cwd)
        list([...sites(60), "new.example.com"])
        const command = [process.execPath, bundle, ...args, "--output", "out.csv"].join(" ")
        const terminal = (answer: string) =>
          shell(cwd, `(echo ${answer}; sleep 6) | script -qefc "${command}" /dev/null`, [])
        const no = yield* terminal("n")
        assert.include(no.stdout, "Check them again? [y/n/skip]")
        assert.strictEqual(yield* paid, 60)
        const skipped = yield* terminal("skip")
        assert.include(skipped.stdout, "1 has figures, 0 have none and 60 are left")
        const rows = csv(cwd, "out.csv")
        assert.lengthOf(rows, 61)
        assert.deepStrictEqual(
          rows.filter(([, domain]) => domain !== "").map(([url]) => url),
          ["new.example.com"],
        )
        assert.strictEqual(yield* paid, 61)
      }),
    timeout,
  )
})

describe("the same list of URLs", () => {
  it.scopedLive(
    "the same list has the same outcomes and price in authority check and in checkAll",
    () =>
      Effect.gen(function* () {
        const { args, cwd, key, paid, read, url } = yield* service()
        const client = AuthorityMetrics({ baseUrl: url, apiKey: key })
        let before = 0
        for (const [i, fixture] of fixtures.entries()) {
          const { content, duplicates, name, targets, urls } = fixture
          writeFileSync(join(cwd, `${i}.txt`), content)
          const command = args.with(1, `${i}.txt`)
          if (fixture.guessed !== undefined) {
            const { code, stderr } = yield* verb(cwd, command)
            assert.strictEqual(code, 1)
            assert.include(stderr, "are guessed, such as in bücher.de; add --yes to go on")
            command.push("--yes")
          }
          const previewed = [...command, "--preview", "--json", "--answers", "none"]
          const preview = yield* verb(cwd, previewed)
          const kept = ["--answers", `${i}.db`]
          const output = ["--output", `${i}.json`, "--columns", "url"]
          const done = yield* verb(cwd, [...command, ...output, ...kept])
          assert.strictEqual(done.code, 0, done.stderr)
          const byVerb = (yield* paid) - before
          const results = yield* Effect.promise(() => collected(client.checkAll(urls)))
          const byClient = (yield* paid) - before - byVerb
          before += byVerb + byClient
          const valid = targets + duplicates
          const found = { valid, invalid: urls.length - valid, duplicates, maxCredits: targets }
          assert.deepInclude(JSON.parse(preview.stdout).preview, found, name)
          assert.deepStrictEqual([byVerb, byClient], [targets, targets], name)
          const outcomes: ReadonlyArray<Record<string, unknown>> = JSON.parse(read(`${i}.json`))
          const facts = ["url", "domainAuthority", "pageAuthority", "spamScore", "reason"]
          assert.deepStrictEqual(
            outcomes.map((outcome) => facts.map((fact) => outcome[fact])),
            results.flatMap(({ outcomes }) =>
              outcomes.map((outcome) => facts.map((fact) => Object(outcome)[fact])),
            ),
            name,
          )
        }
      }),
    timeout,
  )

  it.scopedLive(
    "a list of 5,000 rows is charged once per target, despite kill -9 every two seconds and changed formats",
    () =>
      Effect.gen(function* () {
        const provider = make((targets) => Effect.delay(succeeding(targets), "1 second"))
        const { args, cwd, list, paid } = yield* service({ provider: provider.layer })
        // 4,000 hosts, 600 exact duplicates, 300 other spellings, 100 rows without a host.
        const urls = [
          ...sites(4000),
          ...sites(600, 100),
          ...sites(300, 1000).map((site) => `HTTPS://${site.toUpperCase()}/#top`),
          ...Array.from({ length: 100 }, (_, i) => `host${i}`),
        ].sort((a, b) => hash(a).localeCompare(hash(b)))
        const formats = ["csv", "json", "ndjson", "tsv"]
        for (let kills = 0; kills < 8; kills++) {
          const format = formats[kills % formats.length]
          list([...urls.slice(kills * 37), ...urls.slice(0, kills * 30)])
          const running = yield* start(cwd, [...args, "--output", `out.${format}`])
          yield* Effect.sleep("2 seconds")
          // On a busy machine, every run so far may have been killed before it sent a batch.
          const hasPaid = {
            until: (credits: number) => credits > 0,
            schedule: Schedule.spaced(100),
          }
          if (kills === 7) yield* Effect.repeat(paid, hasPaid)
          running.signal("SIGKILL")
          yield* exited(running)
        }
        const before = yield* paid
        assert.isAbove(before, 0)
        assert.isBelow(before, 4000)
        list(urls)
        const done = yield* toEnd(cwd, [...args, "--output", "out.csv"])
        assert.strictEqual(done.code, 0, done.stderr)
        assert.deepStrictEqual(
          csv(cwd, "out.csv").map(([url]) => url),
          urls,
        )
        assert.include(done.stdout, "4,900 have figures and 100 have none (100 INVALID_URL); ")
        assert.strictEqual(yield* paid, 4000)
        const json = yield* verb(cwd, [...args, "--output", "out.json"])
        assert.strictEqual(json.code, 0, json.stderr)
        assert.lengthOf(JSON.parse(readFileSync(join(cwd, "out.json"), "utf8")), 5000)
        assert.strictEqual(yield* paid, 4000)
      }),
    timeout,
  )
})

const collected = async <A>(results: AsyncIterable<A>) => {
  const all: Array<A> = []
  for await (const result of results) all.push(result)
  return all
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex")
