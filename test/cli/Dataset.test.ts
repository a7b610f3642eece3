/** The verb `authority dataset import`. */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateRawSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const imported = (cwd: string, ...args: ReadonlyArray<string>) =>
  verb(cwd, ["dataset", "import", ...args])

/**
 * Makes a zip archive of one file, as `zip -` writes it to a pipe: sizes and CRC follow the data.
 */
const zipOf = (name: string, text: string): Buffer => {
  const data = deflateRawSync(text)
  const head = Buffer.alloc(30)
  head.write("PK\u0003\u0004", "latin1")
  head.writeUInt16LE(8, 6)
  head.writeUInt16LE(8, 8)
  head.writeUInt16LE(name.length, 26)
  const after = Buffer.alloc(200_000, "PK")
  return Buffer.concat([head, Buffer.from(name), data, after])
}

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

  it.scopedLive(
    "dataset import reads the first file of a zip archive that deflate compressed",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const file = join(cwd, "list.csv.zip")
        const header = "Rank, Domain, Extension, Open Page Rank, Referring Domains\n"
        const rows = Array.from(
          { length: 20_000 },
          (_, i) => `${i + 1}, name-${i}.com, com, 5, 1\n`,
        )
        const archive = zipOf("top10milliondomains.csv", header + rows.join(""))
        writeFileSync(file, archive)
        const args = [file, "--format", "open-page-rank", "--json"]
        const whole = yield* imported(cwd, ...args)
        assert.deepInclude(JSON.parse(whole.stdout), { rows: 20_000, broken: 0 })
        writeFileSync(file, archive.subarray(0, 10_000))
        const cut = yield* imported(cwd, ...args)
        assert.match(cut.stderr, /^authority: .* cannot be read: unexpected end of file\n$/)
        writeFileSync(file, archive.fill(0, 8, 10))
        const stored = yield* imported(cwd, ...args)
        assert.match(stored.stderr, /^authority: [^\n]+ unzip it first\n$/)
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
        /^authority: [^\n]+: the list is not in the format majestic, [^\n]+ --format: common-crawl, majestic, open-page-rank, tranco\n$/,
      )
      writeFileSync(file, gzipSync("1,a.com\n").subarray(0, 20))
      const cut = yield* imported(cwd, file, "--format", "tranco")
      assert.match(cut.stderr, /^authority: .* cannot be read: unexpected end of file\n$/)
      assert.strictEqual((yield* imported(cwd, file, "--format", "alexa")).code, 2)
    }),
  )
})
