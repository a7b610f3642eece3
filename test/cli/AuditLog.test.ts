/** Tests what an operator sees of the audit log: in the verbs and in backups. */
import { writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { newKey } from "../../src/server/Service.ts"
import { sqliteFile } from "../support/Stores.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { document, verb } from "../support/Verb.ts"

const actor = `cli:${userInfo().username}`

const problemsOf = (cwd: string, ...options: ReadonlyArray<string>) =>
  Effect.map(
    verb(cwd, ["credits", "verify", "--json", ...options]),
    ({ stdout }) => JSON.parse(stdout).problems,
  )

describe("the CLI verb audit", () => {
  it.scopedLive("authority audit lists each act of the verbs, refused ones too, newest first", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* document(cwd, "account", "create", "acme", "--credits", "5")
      const { id, key } = yield* document(cwd, "key", "create", "--account", "acme")
      writeFileSync(join(cwd, "list.csv"), "1,example.com\n2,example.org\n")
      yield* document(cwd, "dataset", "import", "list.csv", "--format", "tranco")
      const refused = yield* verb(cwd, ["key", "revoke", "nothing"])
      assert.strictEqual(refused.code, 1)
      const { entries } = yield* document(cwd, "audit")
      type Entry = Record<string, unknown>
      assert.deepStrictEqual(
        entries.map(({ action, subject }: Entry) => [action, subject]).reverse(),
        [
          ["account.create", "acme"],
          ["credits.grant", "acme"],
          ["key.create", id],
          ["dataset.import", "tranco"],
          ["key.revoke", "nothing"],
        ],
      )
      assert.isTrue(entries.every((entry: Entry) => entry["actor"] === actor))
      const reason = refused.stderr.replace(/^authority: /, "").trimEnd()
      assert.deepStrictEqual(entries[0].detail, { refused: reason })
      const page = yield* document(cwd, "audit", "--limit", "3", "--before", "4")
      assert.deepStrictEqual(page.entries, entries.slice(-3))
      const { stdout } = yield* verb(cwd, ["audit", "--limit", "1", "--before", "2"])
      assert.match(
        stdout,
        /^NO +TIME +ACTOR +ACTION +SUBJECT +DETAIL\n 1 .+ account\.create +acme\n$/,
      )
      assert.notInclude(JSON.stringify(entries), key.slice(10))
    }),
  )

  it.scopedLive("the audit log names serve as the actor when the service creates an account", () =>
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

  it.scopedLive("a restored backup keeps its audit log, and gets a line about the restore", () =>
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
