import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OutcomeFile from "../../src/lists/OutcomeFile.ts"
import { folder } from "../support/Program.ts"

const written = (filename: string) =>
  Effect.gen(function* () {
    const { begin, finish, write } = yield* OutcomeFile.file(filename)
    yield* begin
    yield* write("new")
    yield* finish
  }).pipe(Effect.scoped)

describe("the output file of a bulk check", () => {
  it.scoped("the output file of a bulk check is created, or replaces an earlier output", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      writeFileSync(join(cwd, "old.csv"), "old")
      for (const name of ["old.csv", "new.csv"]) {
        yield* written(join(cwd, name))
        assert.strictEqual(readFileSync(join(cwd, name), "utf8"), "new")
      }
    }),
  )

  it.scoped(
    "the output file of a bulk check must not be a database, or a link to a database or another file",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const database = new DatabaseSync(join(cwd, "authority.db"))
        database.exec("CREATE TABLE entries (id INTEGER)")
        database.close()
        writeFileSync(join(cwd, "precious"), "precious")
        mkdirSync(join(cwd, "folder"))
        for (const target of ["authority.db", "precious", "nothing"]) {
          symlinkSync(target, join(cwd, `${target}.csv`))
        }
        const before = readFileSync(join(cwd, "authority.db"))
        for (const name of [
          "authority.db",
          "authority.db.csv",
          "precious.csv",
          "nothing.csv",
          "folder",
        ]) {
          const { message } = yield* Effect.flip(written(join(cwd, name)))
          assert.include(message, name === "authority.db" ? "is a database" : "it is a link")
        }
        assert.deepStrictEqual(readFileSync(join(cwd, "authority.db")), before)
        assert.strictEqual(readFileSync(join(cwd, "precious"), "utf8"), "precious")
      }),
  )
})
