/** The verb `authority dataset import`. */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const imported = (cwd: string, ...args: ReadonlyArray<string>) =>
  verb(cwd, ["dataset", "import", ...args])

describe("authority dataset import", () => {
  it.scopedLive(
    "dataset import reads plain and gzipped lists, obeys --top, and reports broken lines",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const file = join(cwd, "list.csv")
        const text = "1,a.com\nbroken\n3,c.com\n4,d.com\n"
        writeFileSync(file, gzipSync(text))
        const whole = yield* imported(cwd, file, "--format", "tranco", "--json")
        assert.strictEqual(whole.code, 0)
        assert.deepInclude(JSON.parse(whole.stdout), { rows: 3, broken: 1, brokenLines: [2] })
        assert.strictEqual(
          whole.stderr,
          `authority: created the database ${join(cwd, "authority.db")}\n`,
        )

        writeFileSync(file, text)
        const top = yield* imported(cwd, file, "--format", "tranco", "--top", "2")
        assert.match(top.stdout, /^Imported 2 names in .* Skipped 1 broken line, at line 2\.\n$/)
      }),
  )

  it.scopedLive("dataset import reports an unreadable file in one line with the reason", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const file = join(cwd, "list.csv")
      const absent = yield* imported(cwd, file, "--format", "tranco")
      assert.match(absent.stderr, /^authority: .* cannot be read: [^\n]*ENOENT[^\n]*\n$/)
      assert.deepStrictEqual(readdirSync(cwd), [])
      writeFileSync(file, "1,a.com\n")
      yield* imported(cwd, file, "--format", "tranco")
      const wrong = yield* imported(cwd, file, "--format", "majestic")
      assert.strictEqual(wrong.code, 1)
      assert.match(
        wrong.stderr,
        /^authority: [^\n]+: the list is not in the format majestic, [^\n]+ --format: common-crawl, majestic, tranco\n$/,
      )
      writeFileSync(file, gzipSync("1,a.com\n").subarray(0, 20))
      const cut = yield* imported(cwd, file, "--format", "tranco")
      assert.match(cut.stderr, /^authority: .* cannot be read: unexpected end of file\n$/)
      assert.strictEqual((yield* imported(cwd, file, "--format", "alexa")).code, 2)
    }),
  )
})
