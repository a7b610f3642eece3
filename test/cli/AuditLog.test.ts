/** The audit log as an operator meets it: by the verbs, and in backups. */
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
      const { stdout } = yield* verb(cwd, ["audit", "--limit", "1", "--before", "2"])
      assert.match(
        stdout,
        /^NO +TIME +ACTOR +ACTION +SUBJECT +DETAIL\n 1 .+ account\.create +acme\n$/,
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
