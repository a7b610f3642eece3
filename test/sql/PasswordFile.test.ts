import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { passwordFor } from "../../src/sql/PasswordFile.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"

const login = { host: "db.example.com", port: 5432, database: "authority", user: "alice" }

const passwordIn = (content: string, mode = 0o600) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = join(folder, "pgpass")
    writeFileSync(file, content)
    chmodSync(file, mode)
    return passwordFor(login, file)
  })

it.scoped(
  "the password comes from the first line of the password file that matches the login",
  () =>
    Effect.gen(function* () {
      for (const [content, password] of [
        ["db.example.com:5432:authority:alice:one\n", "one"],
        ["# a comment\n\n*:*:*:bob:two\r\n*:*:*:alice:three\r\n*:*:*:*:four", "three"],
        [String.raw`*:*:*:*:a\:b\\c` + "\n", String.raw`a:b\c`],
        ["*:*:*:alice:", ""],
        ["*:5433:*:alice:other\n", undefined],
        ["*:*", undefined],
        ["", undefined],
      ] as const) {
        assert.strictEqual(yield* passwordIn(content), password, content)
      }
    }),
)

it.scoped("a password file that is missing or readable by other users is ignored", () =>
  Effect.gen(function* () {
    assert.isUndefined(yield* passwordIn("*:*:*:*:one", 0o640))
    assert.isUndefined(passwordFor(login, "/no/such/file"))
  }),
)
