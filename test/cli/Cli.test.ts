/** The verbs, in the process of the test. What only a process shows is in `program/Cli.test.ts`. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { openAccount } from "../support/Program.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const key = /^am_[0-9A-Za-z]{49}$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe("the verbs with --json", () => {
  it.scopedLive("the account and credits verbs with --json print one JSON document each", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const acme = yield* document(cwd, "account", "create", "acme", "--credits", "5")
      assert.deepStrictEqual(acme, { account: { id: acme.account.id, name: "acme" }, credits: 5 })
      assert.match(acme.account.id, uuid)
      const zero = yield* document(cwd, "account", "create", "--credits", "0", "zero")
      assert.strictEqual(zero.credits, 0)

      const grantArgs = ["--account", "acme", "--amount", "7", "--note", "May"]
      const granted = yield* document(cwd, "credits", "grant", ...grantArgs)
      const books = { account: "acme", available: 12, held: 0, granted: 12, charged: 0 }
      assert.deepStrictEqual(granted, books)

      const list = yield* document(cwd, "account", "list")
      const balance = yield* document(cwd, "credits", "balance", "--account", acme.account.id)
      const statement = yield* document(cwd, "credits", "statement", "--account", "acme")
      const audit = yield* document(cwd, "credits", "verify")
      assert.deepStrictEqual(list, {
        accounts: [
          { ...acme.account, suspended: false, available: 12, held: 0, granted: 12, charged: 0 },
          { ...zero.account, suspended: false, available: 0, held: 0, granted: 0, charged: 0 },
        ],
      })
      assert.deepStrictEqual(balance, books)
      assert.deepStrictEqual(audit, { ok: true, accounts: 2, entries: 2, problems: [] })
      assert.strictEqual(statement.account, "acme")
      const [opening, grant, ...others] = statement.entries
      assert.deepStrictEqual(others, [])
      const common = { kind: "grant", requestId: null, urls: null }
      assert.deepInclude(opening, { ...common, amount: 5, balanceAfter: 5 })
      assert.deepInclude(grant, { ...common, amount: 7, balanceAfter: 12, note: "May" })
      assert.match(grant.at, iso)
    }),
  )

  it.scopedLive(
    "each key verb with --json prints one JSON document, which contains the secret only of a new key",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        yield* document(cwd, "account", "create", "acme")
        const createArgs = ["--account", "acme", "--label", "ci", "--expires-in", "90d"]
        const first = yield* document(cwd, "key", "create", ...createArgs)
        assert.deepStrictEqual(Object.keys(first), [
          "key",
          "id",
          "account",
          "expiresAt",
          "budget",
          "scopes",
        ])
        assert.match(first.key, key)
        assert.match(first.id, uuid)
        assert.strictEqual(first.account, "acme")
        assert.match(first.expiresAt, iso)

        const lasting = yield* document(cwd, "key", "create", "--account", "acme")
        assert.isNull(lasting.expiresAt)
        const second = yield* document(cwd, "key", "rotate", lasting.id, "--grace", "24h")
        assert.deepStrictEqual(Object.keys(second), [
          "key",
          "id",
          "account",
          "expiresAt",
          "budget",
          "scopes",
        ])
        assert.match(second.key, key)
        assert.strictEqual(second.account, "acme")
        assert.isNull(second.expiresAt)
        assert.strictEqual(new Set([first.key, lasting.key, second.key]).size, 3)

        const revoked = yield* document(cwd, "key", "revoke", first.id)
        assert.deepStrictEqual(Object.keys(revoked), ["id", "revokedAt"])

        const list = yield* verb(cwd, ["key", "list", "--account", "acme", "--json"])
        assert.deepStrictEqual(
          JSON.parse(list.stdout).keys.map(({ id, label, state }: Record<string, unknown>) => [
            id,
            label,
            state,
          ]),
          [
            [first.id, "ci", "revoked"],
            [lasting.id, null, "active"],
            [second.id, null, "active"],
          ],
        )
        for (const secret of [first.key, lasting.key, second.key]) {
          assert.notInclude(list.stdout, secret)
        }
      }),
  )

  it.scopedLive("a key gets, changes, passes on and loses its budget", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      const createArgs = ["--account", "acme", "--budget", "500/total"]
      const first = yield* document(cwd, "key", "create", ...createArgs)
      assert.strictEqual(first.budget, "500/total")
      const updateArgs = ["--budget", "20/month", "--label", "interns"]
      const changed = yield* document(cwd, "key", "update", first.id, ...updateArgs)
      assert.deepInclude(changed, { budget: "20/month", label: "interns" })
      const second = yield* document(cwd, "key", "rotate", first.id)
      assert.strictEqual(second.budget, "20/month")
      const list = () => document(cwd, "key", "list", "--account", "acme")
      const [, { budget, label }] = (yield* list()).keys
      assert.match(budget.resetsAt, iso)
      assert.deepInclude(budget, { credits: 20, period: "month", used: 0, remaining: 20 })
      assert.strictEqual(label, "interns")
      const { stdout } = yield* verb(cwd, ["key", "list", "--account", "acme"])
      assert.include(stdout, "0 of 20/month")
      yield* document(cwd, "key", "update", second.id, "--budget", "none")
      assert.isNull((yield* list()).keys[1].budget)
      const wrong = yield* verb(cwd, ["key", "update", second.id, "--budget", "20/week"])
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.stderr, "expected a budget such as 500/day, 500/month or 500/total")
    }),
  )

  it.scopedLive("control characters of a note and a label are escaped on the screen", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const red = "x\n\u001b[31my"
      const { account } = yield* document(cwd, "account", "create", "acme")
      const { id } = yield* document(cwd, "key", "create", "--account", "acme", "--label", red)
      yield* document(cwd, "credits", "grant", "--account", "acme", "--amount", "5", "--note", red)
      const database = new DatabaseSync(join(cwd, "authority.db"))
      database.prepare("UPDATE entries SET api_key_id = ? WHERE account_id = ?").run(id, account.id)
      database.close()
      const statement = yield* verb(cwd, ["credits", "statement", "--account", "acme"])
      assert.match(statement.stdout, /^TIME .+\n.+ x\\u\{a\}\\u\{1b\}\[31my +x\\u\{a\}\S+31my\n$/)
      const changed = yield* verb(cwd, ["key", "update", id, "--label", red])
      assert.include(changed.stdout, ": label x\\u{a}\\u{1b}[31my, budget none")
    }),
  )

  it.scopedLive("a grant that was too high is corrected with a note", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme", "--credits", "10000")
      const args = ["--account", "acme", "--amount"]
      const note = ["--note", "typed 10,000 for 1,000"]
      const corrected = yield* document(cwd, "credits", "correct", ...args, "9000", ...note)
      const books = { account: "acme", available: 1000, held: 0, granted: 1000, charged: 0 }
      assert.deepStrictEqual(corrected, books)
      const { entries } = yield* document(cwd, "credits", "statement", "--account", "acme")
      const entry = { kind: "correction", amount: -9000, balanceAfter: 1000, key: null }
      assert.deepInclude(entries[1], { ...entry, note: note[1] })
      const more = ["credits", "correct", ...args, "1001", "--note", "more"]
      const refused = yield* verb(cwd, more)
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "only 1000 credits can be taken away")
      assert.strictEqual((yield* verb(cwd, more.slice(0, -2))).code, 2)
      const most = String(Number.MAX_SAFE_INTEGER)
      const tooMany = yield* verb(cwd, ["credits", "grant", ...args, most])
      assert.strictEqual(tooMany.code, 1)
      assert.include(tooMany.stderr, "the account can get at most 9007199254739991 credits more")
    }),
  )

  it.scopedLive("a key is created with scopes, and its scopes and label are changed", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      const create = ["key", "create", "--account", "acme"]
      assert.deepStrictEqual((yield* document(cwd, ...create)).scopes, ["check", "read"])
      const { id, scopes } = yield* document(cwd, ...create, "--scopes", "read, check,read")
      assert.deepStrictEqual(scopes, ["check", "read"])
      const only = yield* verb(cwd, [...create, "--scopes", "read"])
      assert.include(only.stdout, "Its only scope is read.")
      const changed = yield* document(cwd, "key", "update", id, "--scopes", "read", "--label", "ci")
      const expected = { id, label: "ci", budget: null, scopes: ["read"], expiresAt: null }
      assert.deepInclude(changed, expected)
      const { keys } = yield* document(cwd, "key", "list", "--account", "acme")
      assert.deepInclude(keys[1], { id, label: "ci", scopes: ["read"], state: "active" })
      const unlabelled = yield* document(cwd, "key", "update", id, "--label", "")
      assert.deepInclude(unlabelled, { ...expected, label: null })
      yield* document(cwd, ...create, "--label", "")
      assert.isNull((yield* document(cwd, "key", "list", "--account", "acme")).keys[2].label)
      const unknown = yield* verb(cwd, ["key", "update", "none", "--scopes", "read"])
      assert.strictEqual(unknown.code, 1)
      assert.match(unknown.stderr, /"none".*key list/)
    }),
  )

  it.scopedLive("the verb history prints the observations of a URL, newest first", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      const database = new DatabaseSync(join(cwd, "authority.db"))
      const at = Date.now()
      database
        .prepare(
          "INSERT INTO figures VALUES ('moz', 'example.com/', 40, 30.5, NULL, ?, 'May', NULL, ?)",
        )
        .run(at, at - 1000)
      database.close()
      assert.deepStrictEqual(yield* document(cwd, "history", "http://EXAMPLE.com"), {
        url: "http://EXAMPLE.com",
        target: "example.com/",
        observations: [
          {
            fetchedAt: new Date(at - 1000).toISOString(),
            lastFetchedAt: new Date(at).toISOString(),
            provider: "moz",
            index: "May",
            domainAuthority: 40,
            pageAuthority: 30.5,
          },
        ],
      })
      const table = yield* verb(cwd, ["history", "example.com"])
      assert.match(
        table.stdout,
        /^FROM +TO +PROVIDER +INDEX +DA +PA +SPAM\n.+ moz +May +40 +30\.5\n$/,
      )
      const bad = yield* verb(cwd, ["history", "localhost"])
      assert.strictEqual(bad.code, 1)
      assert.match(bad.stderr, /its host is not under a public domain ending/)
    }),
  )

  it.scopedLive("the usage is a table, CSV or one JSON document, by day or by key", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const acme = yield* document(cwd, "account", "create", "acme")
      const used = ["--account", "acme", "--label", "=ci"]
      const { id } = yield* document(cwd, "key", "create", ...used)
      const database = new DatabaseSync(join(cwd, "authority.db"))
      const insert = database.prepare("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, 1, 2, 0)")
      insert.run(acme.account.id, 20_780, id, 7, 14, 4)
      insert.run(acme.account.id, 20_781, id, 1, 2, 1)
      database.close()

      const failed = { INVALID_URL: 1, PROVIDER_ERROR: 2, SERVER_ERROR: 0 }
      const first = { checks: 7, credits: 14, known: 4, bought: 3, failed }
      assert.deepStrictEqual(yield* document(cwd, "usage", "--account", "acme"), {
        account: "acme",
        rows: [
          { day: "2026-11-23", ...first },
          { day: "2026-11-24", checks: 1, credits: 2, known: 1, bought: 0, failed },
        ],
      })
      const until = ["--until", "2026-11-24"]
      assert.deepStrictEqual(
        yield* document(cwd, "usage", "--account", "acme", "--by", "key", ...until),
        { account: "acme", rows: [{ key: { id, label: "=ci" }, ...first }] },
      )
      const ofAll = { account: "acme", checks: 8, credits: 16, known: 5, bought: 3 }
      assert.deepStrictEqual(yield* document(cwd, "usage", "--by", "account"), {
        rows: [{ ...ofAll, failed: { INVALID_URL: 2, PROVIDER_ERROR: 4, SERVER_ERROR: 0 } }],
      })
      assert.deepStrictEqual(yield* document(cwd, "usage", "--by", "key", ...until), {
        rows: [{ account: "acme", key: { id, label: "=ci" }, ...first }],
      })
      assert.deepStrictEqual(yield* document(cwd, "usage", ...until), {
        rows: [{ day: "2026-11-23", ...first }],
      })
      assert.match(
        (yield* verb(cwd, ["usage", "--by", "account"])).stdout,
        /^ACCOUNT +CHECKS +CREDITS .*\nacme +8 +16 /,
      )
      const csv = ["--format", "csv", "--by", "key", "--since", "2026-11-24"]
      assert.match(
        (yield* verb(cwd, ["usage", ...csv])).stdout,
        /^account,key,label,checks,.*\nacme,/,
      )
      assert.strictEqual(
        (yield* verb(cwd, ["usage", "--account", "acme", ...csv])).stdout,
        "key,label,checks,credits,known,bought,invalid_url,provider_error,server_error\n" +
          `${id},"'=ci",1,2,1,0,1,2,0\n`,
      )
      assert.match(
        (yield* verb(cwd, ["usage", "--account", "acme"])).stdout,
        /^DAY +CHECKS +CREDITS +KNOWN +BOUGHT +INVALID +PROVIDER +SERVER\n2026-11-23 +7 +14 +4 +3 +1 +2 +0\n2026-11-24 /,
      )
    }),
  )

  it.scopedLive(
    "credits verify and doctor name an impossible balance and an unreadable key, and other CLI verbs fail",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        yield* document(cwd, "account", "create", "acme", "--credits", "5")
        const broke = yield* document(cwd, "account", "create", "broke", "--credits", "5")
        const bad = yield* document(cwd, "key", "create", "--account", "acme")
        const database = new DatabaseSync(join(cwd, "authority.db"))
        const { id } = broke.account
        database.prepare("UPDATE balances SET granted = 1e300 WHERE account_id = ?").run(id)
        database
          .prepare("UPDATE api_keys SET expires_at = 86400000000000000 WHERE id = ?")
          .run(bad.id)
        database.close()

        for (const args of [
          ["key", "list", "--account", "acme"],
          ["account", "list"],
        ]) {
          const { code, stderr, stdout } = yield* verb(cwd, args)
          assert.deepStrictEqual([code, stdout], [1, ""])
          assert.match(stderr, /^authority: a stored row cannot be read; [^\n]+\n$/)
        }

        const verify = yield* verb(cwd, ["credits", "verify", "--json"])
        assert.strictEqual(verify.code, 1)
        const { accounts, ok, problems } = JSON.parse(verify.stdout)
        assert.deepStrictEqual({ accounts, ok }, { accounts: 2, ok: false })
        const [balance, ...others] = problems
        assert.match(
          balance,
          new RegExp(`^account ${id}: the balance records 1e\\+300 granted .+$`),
        )
        assert.deepStrictEqual(others, [])

        const doctor = yield* verb(cwd, ["doctor", "--json"])
        assert.strictEqual(doctor.code, 1)
        const failures = JSON.parse(doctor.stdout).findings.filter(
          ({ state }: Record<string, unknown>) => state === "failure",
        )
        assert.deepStrictEqual(
          failures.map(({ subject }: Record<string, unknown>) => subject),
          ["ledger", `key ${bad.id}`],
        )

        assert.strictEqual((yield* document(cwd, "key", "revoke", bad.id)).id, bad.id)
      }),
  )
})

describe("a CLI verb that fails", () => {
  const fails = (
    name: string,
    args: ReadonlyArray<string>,
    message: RegExp,
    settings: Record<string, string> = {},
    prepare: (cwd: string) => Effect.Effect<unknown, unknown> = () => Effect.void,
  ) =>
    it.scopedLive(`a CLI verb with ${name} prints one line on stderr and exits with 1`, () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        yield* prepare(cwd)
        const { code, stderr, stdout } = yield* verb(cwd, args, settings)
        assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
        assert.match(stderr, /^authority: .+\n$/)
        assert.match(stderr, message)
      }),
    )

  const openAcme = (cwd: string) => openAccount(cwd, 1)

  fails(
    "an account that does not exist",
    ["credits", "balance", "--account", "nobody", "--json"],
    /"nobody".*account list/,
    {},
    openAcme,
  )
  fails(
    "an API key that does not exist",
    ["key", "revoke", "nothing"],
    /"nothing".*key list/,
    {},
    openAcme,
  )
  fails("restore and a PostgreSQL database", ["restore", "file"], /restores SQLite only/, {
    AUTHORITY_DATABASE_URL: "postgres://127.0.0.1/d",
  })
  fails(
    "a backup into a folder that does not exist",
    ["backup", "missing/copy.db"],
    /missing\/copy\.db cannot be written: there is no such file or folder; check the path/,
    {},
    openAcme,
  )
  fails(
    "a restore into a folder that cannot be written",
    ["restore", import.meta.filename],
    /the folder \/proc cannot be written: /,
    // Not even the superuser may write there.
    { AUTHORITY_DATABASE_URL: "sqlite:/proc/authority.db" },
  )
  fails(
    "a database in a folder that does not exist",
    ["serve"],
    /database.*folder|database.*directory/,
    { AUTHORITY_DATABASE_URL: "sqlite:missing/authority.db" },
  )
  fails(
    "a database in a folder that cannot be written",
    ["serve"],
    /AUTHORITY_DATABASE_URL/,
    // Not even the superuser may write there.
    { AUTHORITY_DATABASE_URL: "sqlite:/proc/authority.db" },
  )
  fails(
    "a database that is a folder",
    ["serve"],
    /AUTHORITY_DATABASE_URL/,
    { AUTHORITY_DATABASE_URL: "sqlite:folder" },
    (cwd) => Effect.sync(() => mkdirSync(join(cwd, "folder"))),
  )
  fails("a database file that is a text file", ["serve"], /is not an SQLite database/, {}, (cwd) =>
    Effect.sync(() =>
      writeFileSync(join(cwd, "authority.db"), "These are my memoirs. ".repeat(1000)),
    ),
  )
})

describe("a database that does not exist", () => {
  /** Every verb that reads the database, but does not create it. */
  const readers = [
    ["account", "list"],
    ["key", "create", "--account", "acme"],
    ["key", "list", "--account", "acme"],
    ["key", "rotate", "id"],
    ["key", "revoke", "id"],
    ["credits", "grant", "--account", "acme", "--amount", "1"],
    ["credits", "balance", "--account", "acme"],
    ["credits", "statement", "--account", "acme"],
    ["credits", "verify", "--json"],
    ["usage", "--account", "acme"],
    ["backup", "copy.db"],
  ] as const

  for (const args of readers) {
    it.scopedLive(
      `authority ${args.slice(0, 2).join(" ")} does not create a missing database, and prints its path`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* temporaryFolder
          const { code, stderr, stdout } = yield* verb(cwd, args)
          assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
          assert.match(stderr, /^authority: there is no database at [^\n]+\n$/)
          assert.include(stderr, ` ${join(cwd, "authority.db")};`)
          assert.deepStrictEqual(readdirSync(cwd), [])
        }),
    )
  }

  it.scopedLive(
    "the verbs account create and dataset import create a missing database, and print its path once",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        writeFileSync(join(cwd, "list.csv"), "1,example.com\n")
        const importing = ["dataset", "import", "list.csv", "--format", "tranco"]
        for (const [name, args] of [
          ["a.db", ["account", "create", "acme"]],
          ["b.db", importing],
        ] as const) {
          const settings = { AUTHORITY_DATABASE_URL: `sqlite:${name}` }
          const { code, stderr } = yield* verb(cwd, args, settings)
          assert.deepStrictEqual(
            { code, stderr },
            { code: 0, stderr: `authority: created the database ${join(cwd, name)}\n` },
          )
          const again = yield* verb(cwd, importing, settings)
          assert.deepStrictEqual([again.code, again.stderr], [0, ""])
        }
      }),
  )

  it.scopedLive(
    "an empty file or another program's SQLite file counts as no database and stays unchanged",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const files = { empty: join(cwd, "empty.db"), other: join(cwd, "other.db") }
        writeFileSync(files.empty, "")
        const other = new DatabaseSync(files.other)
        other.exec("CREATE TABLE entries (memoir TEXT)")
        other.close()
        for (const file of Object.values(files)) {
          const before = readFileSync(file)
          const settings = { AUTHORITY_DATABASE_URL: `sqlite:${file}` }
          for (const args of [["account", "list"], ["doctor"]]) {
            const { code, stderr, stdout } = yield* verb(cwd, args, settings)
            assert.strictEqual(code, 1)
            assert.include(stdout + stderr, `there is no database at ${file}`)
          }
          assert.deepStrictEqual(readFileSync(file), before)
        }
        assert.sameMembers(readdirSync(cwd), ["empty.db", "other.db"])
      }),
  )
})
