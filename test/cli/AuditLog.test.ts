/** The audit log as an operator meets it: by the verbs, in backups, and in an older database. */
import { writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { chainHash, StoredLine } from "../../src/ledger/AuditLine.ts"
import { genesisHash } from "../../src/ledger/LedgerEntry.ts"
import { newKey } from "../../src/server/newKey.ts"
import { sqliteFile } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

const actor = `cli:${userInfo().username}`

/** Runs a change on the database in the folder by hand. */
const byHand = (cwd: string, change: (database: DatabaseSync) => void) => {
  const database = new DatabaseSync(join(cwd, "authority.db"))
  change(database)
  database.close()
}

const problemsOf = (cwd: string, ...options: ReadonlyArray<string>) =>
  Effect.map(
    verb(cwd, ["credits", "verify", "--json", ...options]),
    ({ stdout }) => JSON.parse(stdout).problems,
  )

describe("the verb audit", () => {
  it.scopedLive("lists each act of the verbs and each refused one, newest first", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme", "--credits", "5")
      const first = yield* document(cwd, "key", "create", "--account", "acme")
      const second = yield* document(cwd, "key", "rotate", first.id)
      yield* document(cwd, "key", "revoke", second.id)
      yield* document(cwd, "credits", "grant", "--account", "acme", "--amount", "2")
      writeFileSync(join(cwd, "list.csv"), "1,example.com\n2,example.org\n")
      yield* document(cwd, "dataset", "import", "list.csv", "--format", "tranco")
      const refusals = [
        ["account", "create", "acme"],
        ["key", "create", "--account", "nobody"],
        ["key", "rotate", first.id],
        ["key", "revoke", "nothing"],
        ["credits", "grant", "--account", "nobody", "--amount", "1"],
      ]
      const reasons = []
      for (const args of refusals) {
        const { code, stderr } = yield* verb(cwd, args)
        assert.strictEqual(code, 1)
        reasons.push(stderr.replace(/^authority: /, "").trimEnd())
      }
      const { entries } = yield* document(cwd, "audit")
      type Entry = Record<string, unknown>
      assert.deepStrictEqual(
        entries.map(({ action, subject }: Entry) => [action, subject]).reverse(),
        [
          ["log.begin", "the audit log"],
          ["account.create", "acme"],
          ["credits.grant", "acme"],
          ["key.create", first.id],
          ["key.rotate", first.id],
          ["key.create", second.id],
          ["key.revoke", second.id],
          ["credits.grant", "acme"],
          ["dataset.import", "tranco"],
          ["account.create", "acme"],
          ["key.create", "nobody"],
          ["key.rotate", first.id],
          ["key.revoke", "nothing"],
          ["credits.grant", "nobody"],
        ],
      )
      assert.isTrue(entries.every((entry: Entry) => entry["actor"] === actor))
      assert.deepStrictEqual(
        entries
          .slice(0, 5)
          .map((entry: Entry) => entry["detail"])
          .reverse(),
        reasons.map((refused) => ({ refused })),
      )
      assert.deepStrictEqual(Object.keys(entries[0]), [
        "sequence",
        "at",
        "actor",
        "action",
        "subject",
        "detail",
      ])
      const page = yield* document(cwd, "audit", "--limit", "3", "--before", "4")
      assert.deepStrictEqual(page.entries, entries.slice(-3))
      const { stdout } = yield* verb(cwd, ["audit", "--limit", "1", "--before", "3"])
      assert.match(
        stdout,
        /^NO +TIME +ACTOR +ACTION +SUBJECT +DETAIL\n 2 .+ account\.create +acme\n$/,
      )
      assert.deepStrictEqual(yield* problemsOf(cwd), [])
      assert.notInclude(JSON.stringify(entries), first.key.slice(10))
    }),
  )

  it.scopedLive("an account that the service or a program around it makes has lines of serve", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const key = yield* Effect.provide(
        newKey({ account: "embedded", credits: 3 }),
        sqliteFile(join(cwd, "authority.db")),
      )
      assert.match(Redacted.value(key), /^am_/)
      const { entries } = yield* document(cwd, "audit", "--limit", "3")
      assert.deepStrictEqual(
        entries.map(({ action, actor }: Record<string, unknown>) => [action, actor]),
        [
          ["key.create", "serve"],
          ["credits.grant", "serve"],
          ["account.create", "serve"],
        ],
      )
    }),
  )

  it.scopedLive("a restored backup keeps its log, and has a line of the restore", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme", "--credits", "5")
      const before = yield* document(cwd, "audit")
      yield* document(cwd, "credits", "verify", "--heads", "heads")
      const { heads } = yield* document(cwd, "backup", "copy.db")
      yield* document(cwd, "account", "create", "later")
      yield* document(cwd, "restore", "copy.db")
      const { entries } = yield* document(cwd, "audit")
      assert.deepStrictEqual(entries.slice(1), before.entries)
      assert.deepInclude(entries[0], { actor, action: "database.restore", detail: { heads } })
      assert.deepStrictEqual(yield* problemsOf(cwd, "--against", "heads"), [])
    }),
  )
})

describe("an audit log that was written anew, with new hashes", () => {
  it.scopedLive("is accepted by verify, and found by verify --against", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme", "--credits", "5")
      yield* document(cwd, "credits", "verify", "--heads", "heads")
      byHand(cwd, (database) => {
        let head = genesisHash
        for (const row of database.prepare("SELECT * FROM audit_log ORDER BY sequence").all()) {
          const line = { ...encodedOf(row), actor: "cli:mallory" }
          head = chainHash(head, line)
          database
            .prepare("UPDATE audit_log SET actor = ?, hash = ? WHERE sequence = ?")
            .run(line.actor, head, line.sequence)
        }
        database.prepare("UPDATE audit_head SET head = ?").run(head)
      })
      assert.deepStrictEqual(yield* problemsOf(cwd), [])
      assert.deepStrictEqual(yield* problemsOf(cwd, "--against", "heads"), [
        "the audit log: line 3 differs from the earlier head, so the line or one before it was replaced",
      ])
    }),
  )

  it.scopedLive("is found by verify --against when its last lines were cut off", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme")
      yield* verb(cwd, ["key", "revoke", "nothing"])
      yield* document(cwd, "credits", "verify", "--heads", "heads")
      byHand(cwd, (database) =>
        database.exec(`
          DELETE FROM audit_log WHERE sequence = 3;
          UPDATE audit_head SET entries = 2,
            head = (SELECT hash FROM audit_log WHERE sequence = 2)`),
      )
      assert.deepStrictEqual(yield* problemsOf(cwd), [])
      assert.deepStrictEqual(yield* problemsOf(cwd, "--against", "heads"), [
        "the audit log: line 3, an earlier head, is missing",
      ])
    }),
  )
})

const decodeEncoded = Schema.decodeUnknownSync(Schema.encodedSchema(StoredLine))

const encodedOf = ({ row_id: rowId, row_table: rowTable, ...line }: Record<string, unknown>) =>
  decodeEncoded({ ...line, rowId, rowTable })
