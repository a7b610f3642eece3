/** `authority backup` of a database whose books are wrong. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { openAccount } from "../support/Program.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

describe("backing up a database whose ledger is wrong", () => {
  it.scopedLive("a backup whose ledger has errors is kept, and the message names the file", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* openAccount(cwd, 100)
      const database = new DatabaseSync(join(cwd, "authority.db"))
      database.exec("UPDATE entries SET amount = amount + 1")
      database.close()
      const { code, stderr } = yield* verb(cwd, ["backup", "copy.db"])
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        /^authority: the copy copy\.db could not be verified: the ledger in this file has errors: [^\n]+\n$/,
      )
      assert.isTrue(existsSync(join(cwd, "copy.db")))
    }),
  )
})
