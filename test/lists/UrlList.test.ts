/** Tests that `authority check` and the console find the same URLs in the same file. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as UrlInput from "../../src/lists/ListFile.ts"
import * as UrlList from "../../src/lists/UrlList.ts"
import * as PagesList from "../../src/pages/answers/UrlList.ts"
import { fixtures, refused } from "../support/lists.ts"
import { runs } from "../support/properties.ts"
import { folder } from "../support/Program.ts"

const urls = (items: ReadonlyArray<{ readonly url: string }>) => items.map(({ url }) => url)

/** Reads a file as `authority check` does. */
const checked = (content: string | Uint8Array, column?: string) =>
  Effect.gen(function* () {
    const file = join(yield* folder, "list.csv")
    writeFileSync(file, content)
    const notes: Array<string> = []
    const list = yield* UrlInput.open({ file, column, onNote: (note) => notes.push(note) })
    return { urls: urls(list.items), guessed: list.guessed, notes }
  }).pipe(Effect.scoped)

/** Reads a file as the console does. */
const pasted = (content: string | Uint8Array, column?: string) =>
  PagesList.read(UrlList.decoded(Buffer.from(content)), column)

const words = ["a.com", "https://b.com/x,y", "é", "#", "\u200B", "日本", "domain:", "1"]
const marks = [...' \u2003\n\r\t,;|<>"，']

describe("a list of URLs", () => {
  for (const fixture of fixtures) {
    const { column, content, guessed = [], isGuessed = false, name, urls: expected } = fixture
    it.effect(`authority check and the console read the same URLs from ${name}`, () =>
      Effect.gen(function* () {
        const list = yield* checked(content)
        const { table, ...page } = pasted(content)
        assert.deepStrictEqual(list.urls, expected)
        assert.deepStrictEqual(urls(page.items), expected)
        assert.deepStrictEqual([list.guessed, page.guessed], [guessed, guessed])
        assert.strictEqual(
          table?.column === undefined ? undefined : table.columns[table.column],
          column,
        )
        const label = /^column (\d)$/.exec(column ?? "")?.[1] ?? JSON.stringify(column)
        assert.deepStrictEqual(list.notes, [
          ...(isGuessed ? ["The list is not in UTF-8, so it is read as Windows-1252."] : []),
          ...(column === undefined ? [] : [`The URLs are in the column ${label}.`]),
        ])
      }),
    )
  }

  it("whatever a list contains, the URLs that are read are unchanged words of it, in order", () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words, ...marks), { maxLength: 30 }), (parts) => {
        const text = parts.join("")
        let end = 0
        for (const url of urls(pasted(text).items)) {
          assert.notMatch(url, /[\p{White_Space}|<>"，]/u)
          const start = text.indexOf(url, end)
          assert.isAtLeast(start, end, `${JSON.stringify(text)} has no ${url}`)
          end = start + url.length
        }
      }),
      { numRuns: runs(500) },
    ))

  it("a CSV of 100,000 rows that begins like its first 100 rows is read to its end", () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => `${i},"site-${i}.com","a\nb"`)
    const { items } = pasted(`id,url,note\n${rows.join("\n")}`)
    assert.lengthOf(items, 100_000)
    assert.deepStrictEqual(items.at(-1), { url: "site-99999.com", others: ["99999", "a\nb"] })
  })
})

describe("the column that the user chooses", () => {
  const csv = "id,site,rival\n1,a.com,x.com\n2,b.com,y.com\n"

  it.effect("a column of a CSV can be chosen by its name or its number", () =>
    Effect.gen(function* () {
      for (const column of ["rival", " RIVAL ", "3"]) {
        assert.deepStrictEqual((yield* checked(csv, column)).urls, ["x.com", "y.com"])
        const { items } = pasted(csv, column)
        assert.deepStrictEqual(urls(items), ["x.com", "y.com"])
      }
      const short = '"x,y";url\n1;a.com\n2\n3;"b.com"\n4;\n'
      assert.deepStrictEqual((yield* checked(short, "url")).urls, ["a.com", "b.com"])
      assert.deepStrictEqual((yield* checked("site\nlocalhost", "site")).urls, ["localhost"])
      assert.deepStrictEqual((yield* checked("", "url")).urls, [])
      const years = "url,2024\na.com,b.com\n"
      assert.deepStrictEqual((yield* checked(years, "2024")).urls, ["b.com"])
    }),
  )

  it.effect("a CSV with several columns of URLs is not read until the user chooses one", () =>
    Effect.gen(function* () {
      const refusal = Effect.map(Effect.flip(checked("Source,Target page\na.com,b.com\n")), String)
      assert.include(yield* refusal, 'choose a column with --column: "Source" or "Target page"')
      const unnamed = Effect.map(Effect.flip(checked("1,a.com,b.com\n")), String)
      assert.include(yield* unnamed, "choose a column with --column: 2 or 3")
      const list = pasted("Source,Target page\na.com,b.com\n")
      assert.deepStrictEqual([list.items, list.table?.candidates], [[], [0, 1]])
    }),
  )

  it.effect("a column that a CSV does not have is reported with the columns that it has", () =>
    Effect.gen(function* () {
      const missing = [
        ["url", 'has no column "url"; its columns are "id", "site", "rival"'],
        ["4", "has no column 4, because its first row has 3 columns"],
      ] as const
      for (const [column, message] of missing) {
        assert.include((yield* Effect.flip(checked(csv, column))).message, message)
        assert.strictEqual(pasted(csv, column).problem, message)
      }
    }),
  )
})

describe("a file that is not a list", () => {
  it.effect.each(refused)(
    "%s is refused with a clear message, and nothing is checked",
    ([, content, message]) =>
      Effect.gen(function* () {
        assert.include((yield* Effect.flip(checked(content))).message, `list.csv ${message}`)
        assert.include(pasted(content).problem, message)
      }),
  )
})

describe("a CSV with an unclosed quote", () => {
  const open = (line: number) =>
    `has a quote in line ${line} that is not closed; close it, and double each quote inside a quoted cell`
  const many = Array.from({ length: 200 }, (_, i) => `site${i}.com,x\n`).join("")

  it.effect.each([
    ["to the end of the list", 'url,text\na.com,one\nb.com,"two\nc.com,three\nd.com,four\n', 3],
    ["in the last line", 'url,text\na.com,one\nb.com,"two', 3],
    ["up to another quoted cell", 'url,text\na.com,one\nb.com,"two\nc.com,"three"\nd.com,4\n', 3],
    ["where all cells are quoted", '"url","text"\n"a.com","one\n"b.com","two"\n"c.com","x"\n', 2],
    ["in the column of the URLs", 'url,text\n"a.com,one\nb.com,two', 2],
    ["in the first row of a long list", `url,text\na.com,"one\n${many}`, 2],
    ["behind the first rows", `url,text\n# no\n"a.com","1\n2"\n${many}b.com,"two\n${many}`, 205],
    ["of more than a million characters", `url,text\na.com,x\nb.com,"${"x\n".repeat(600_000)}`, 3],
    ["behind the name of the separator", 'sep=;\nurl;text\na.com;"one\nb.com;two\n', 3],
  ] as const)(
    "a CSV with an unclosed quote %s is refused with the line of the quote",
    ([, content, line]) =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(checked(content))
        assert.isTrue(message.endsWith(`list.csv ${open(line)}`), message)
        assert.strictEqual(pasted(content).problem, open(line))
      }),
  )

  it.effect.each([
    ["a CSV with an inch mark in a cell", 'url,text\na.com,5" pipe\nb.com,x\n'],
    ["a CSV with a quote in a quoted cell", 'url,text\na.com,"5" pipe"\nb.com,"x\ny"\n'],
    ["lines with a quote", '"a.com\nb.com\n'],
  ] as const)("%s is read", ([, content]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* checked(content)).urls, ["a.com", "b.com"])
    }),
  )
})

describe("a list in the console", () => {
  it("the console keeps every row of a list with its other cells, and counts identical URLs", () => {
    const { items, own, repeated } = pasted("id,url,note\n1,a.com,x\n2,b.com,y\n3,a.com,\n")
    assert.deepInclude(own, { column: 1, columns: ["id", "url", "note"] })
    assert.deepStrictEqual(items, [
      { url: "a.com", others: ["1", "x"] },
      { url: "b.com", others: ["2", "y"] },
      { url: "a.com", others: ["3", ""] },
    ])
    assert.strictEqual(repeated, 1)
    assert.isUndefined(pasted("a.com\na.com").own)
  })
})
