/**
 * Tests the verbs in the test's process. `program/Cli.test.ts` tests what only a separate process
 * shows.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { openAccount } from "../support/Program.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

describe("CLI verbs with --json", () => {
  it.scopedLive("the credits verbs print one JSON document each", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const acme = yield* document(cwd, "account", "create", "acme", "--credits", "5")
      yield* document(
        cwd,
        "credits",
        "grant",
        "--account",
        "acme",
        "--amount",
        "7",
        "--note",
        "May",
      )
      const balance = yield* document(cwd, "credits", "balance", "--account", acme.account.id)
      const books = { account: "acme", available: 12, held: 0, granted: 12, charged: 0 }
      assert.deepStrictEqual(balance, books)
      const audit = yield* document(cwd, "credits", "verify")
      assert.deepStrictEqual(audit, { ok: true, accounts: 1, entries: 2, problems: [] })
      const statement = yield* document(cwd, "credits", "statement", "--account", "acme")
      assert.strictEqual(statement.account, "acme")
      const [opening, grant, ...others] = statement.entries
      assert.deepStrictEqual(others, [])
      const common = { kind: "grant", requestId: null, urls: null }
      assert.deepInclude(opening, { ...common, amount: 5, balanceAfter: 5 })
      assert.deepInclude(grant, { ...common, amount: 7, balanceAfter: 12, note: "May" })
      assert.match(grant.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }),
  )

  it.scopedLive("a new key is printed once, and the list shows its scopes and budget", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      const create = ["key", "create", "--account", "acme", "--scopes", "read", "--budget"]
      const created = yield* verb(cwd, [...create, "500/day"])
      assert.match(created.stdout, /^am_[0-9A-Za-z]{49}\n.*Its only scope is read\..* 500\/day\./)
      const first = yield* document(cwd, ...create, "500/total")
      const second = yield* document(cwd, "key", "rotate", first.id, "--grace", "24h")
      const fields = ["key", "id", "account", "expiresAt", "budget", "scopes"]
      for (const issued of [first, second]) {
        assert.deepStrictEqual(Object.keys(issued), fields)
        assert.match(issued.key, /^am_[0-9A-Za-z]{49}$/)
      }
      const list = yield* verb(cwd, ["key", "list", "--account", "acme"])
      assert.match(list.stdout, /active +read +0 of 500\/day/)
      for (const { key } of [first, second]) assert.notInclude(list.stdout, key)
      const revoked = yield* document(cwd, "key", "revoke", first.id)
      assert.deepStrictEqual(Object.keys(revoked), ["id", "revokedAt"])
      const unknown = yield* verb(cwd, ["key", "update", "none", "--scopes", "read"])
      assert.match(unknown.stderr, /"none".*key list/)
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

  it.scopedLive("the usage is a table, CSV or one JSON document, by day, key or account", () =>
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

      const until = ["--until", "2026-11-24"]
      assert.deepStrictEqual(yield* document(cwd, "usage", "--by", "key", ...until), {
        rows: [
          {
            account: "acme",
            key: { id, label: "=ci" },
            checks: 7,
            credits: 14,
            known: 4,
            bought: 3,
            failed: { INVALID_URL: 1, PROVIDER_ERROR: 2, SERVER_ERROR: 0 },
          },
        ],
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
    // Not even the superuser can write there.
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
    // Not even the superuser can write there.
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
  /** Every verb that reads the database but does not create it. */
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
