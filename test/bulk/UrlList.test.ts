import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as UrlList from "../../src/bulk/UrlList.ts"

/** Yields the bytes in chunks of `size`, which may cut lines and characters. */
async function* inPieces(bytes: Uint8Array, size: number) {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size)
}

const read = async (content: string | Uint8Array, column?: string, size = 1) => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  const urls: Array<string> = []
  for await (const batch of UrlList.batches(inPieces(bytes, size), { column, batchSize: 3 })) {
    urls.push(...batch)
  }
  return urls
}

const expectUrls = (
  content: string | Uint8Array,
  expected: ReadonlyArray<string>,
  column?: string,
) =>
  Effect.promise(async () => {
    for (const size of [1, 3, 100_000]) {
      assert.deepStrictEqual(await read(content, column, size), expected)
    }
  })

const expectRefusal = (content: string, message: RegExp, column?: string) =>
  Effect.promise(async () => {
    const error = await read(content, column, 100_000).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.instanceOf(error, UrlList.UnreadableList)
    assert.match(error.message, message)
  })

describe("a list with one URL per line", () => {
  it.effect("a URL list may use any kind of line end, and its last line needs no line end", () =>
    Effect.gen(function* () {
      const expected = ["example.com", "https://example.org/a,b?c#d", "bücher.example"]
      yield* expectUrls(expected.join("\n"), expected)
      yield* expectUrls(`${expected.join("\r\n")}\r\n`, expected)
      yield* expectUrls(expected.join("\r"), expected)
      yield* expectUrls("", [])
    }),
  )

  it.effect(
    "the reader of a URL list skips a byte order mark, blank lines and comments, and trims the spaces around each URL",
    () => expectUrls("\uFEFFa.com\n\n  \n# no\n  # nor this\n\tb.com \n#\n", ["a.com", "b.com"]),
  )

  it.effect("a URL list may be in UTF-16, as Windows writes it", () =>
    Effect.gen(function* () {
      const little = Buffer.from("\uFEFFa.com\r\nbücher.example\r\n", "utf16le")
      yield* expectUrls(little, ["a.com", "bücher.example"])
      yield* expectUrls(Buffer.from(little).swap16(), ["a.com", "bücher.example"])
    }),
  )

  it.effect("a URL list without line ends is rejected before it fills the memory", () =>
    expectRefusal("x".repeat(1_100_000), /a line of more than a million characters/),
  )

  it.effect(
    "a URL list yields every line once and in order, however the file is cut into chunks, and for every batch size",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            fc.array(fc.string({ unit: "grapheme" })),
            fc.constantFrom("\n", "\r\n", "\r"),
            fc.integer({ min: 1, max: 20 }),
            async (lines, lineEnd, size) => {
              const expected = lines
                .flatMap((line) => line.split(/[\r\n]/))
                .map((line) => line.trim())
                .filter((line) => line !== "" && !line.startsWith("#"))
              const bytes = Buffer.from(lines.join(lineEnd))
              assert.deepStrictEqual(await read(bytes, undefined, size), expected)
            },
          ),
        ),
      ),
  )
})

describe("the column of a CSV", () => {
  const csv = '\uFEFFName,URL\r\n"A, Inc.",a.com\r\n\r\n# no\r\n"B ""b""","https://b.com/x,y#z"\r\n'

  it.effect(
    "the URL column of a CSV is found by its name in the first row, in any letter case",
    () => expectUrls(csv, ["a.com", "https://b.com/x,y#z"], "url"),
  )

  it.effect(
    "if the user chooses the URL column of a CSV by its number, the first row is read as data",
    () => expectUrls(csv, ["URL", "a.com", "https://b.com/x,y#z"], "2"),
  )

  it.effect("a CSV list may have semicolons or tabs, cells of several lines, and short rows", () =>
    Effect.gen(function* () {
      yield* expectUrls('"x,y";url\n1;a.com\n2\n3;"b.com"\n4;\n', ["a.com", "b.com"], "url")
      yield* expectUrls("id\turl\n1\ta.com/x;y,z\n", ["a.com/x;y,z"], "url")
      yield* expectUrls('note,url\n"two\nlines",a.com', ["a.com"], "url")
      yield* expectUrls("url\na.com\n", ["a.com"], "url")
      yield* expectUrls("", [], "url")
    }),
  )

  it.effect("a CSV column that is missing is reported along with the columns that exist", () =>
    Effect.gen(function* () {
      yield* expectRefusal(csv, /no column "site"; its columns are "Name", "URL"/, "site")
      yield* expectRefusal(csv, /has no column 3, because its first row has 2 columns/, "3")
    }),
  )
})

describe("a CSV without a chosen column", () => {
  const taken = (content: string, isCsv: boolean) =>
    Effect.promise(async () => {
      const urls: Array<string> = []
      const columns: Array<string> = []
      const options = { isCsv, batchSize: 3, onColumn: (column: string) => columns.push(column) }
      const bytes = inPieces(Buffer.from(content), 1)
      for await (const batch of UrlList.batches(bytes, { ...options, column: undefined })) {
        urls.push(...batch)
      }
      return { columns, urls }
    })

  const refusal = (content: string) =>
    Effect.map(Effect.flip(Effect.sandbox(taken(content, true))), String)

  it.effect(
    "if no CSV column is chosen, the only column with URLs is read, and its name is reported",
    () =>
      Effect.gen(function* () {
        const csv = "Rank;Address;Type\n1;https://a.com/x;text/html\n2;b.com;text/html\n3;;\n"
        const expected = { columns: ['"Address"'], urls: ["https://a.com/x", "b.com"] }
        assert.deepStrictEqual(yield* taken(csv, true), expected)
      }),
  )

  it.effect("a list with a header row is read as a CSV, whatever the name of its file", () =>
    Effect.gen(function* () {
      const csv = "Rank,Address\n1,a.com\n2,b.com\n"
      const expected = { columns: ['"Address"'], urls: ["a.com", "b.com"] }
      assert.deepStrictEqual(yield* taken(csv, false), expected)
    }),
  )

  it.effect(
    "a list with one URL per line is not read as a CSV because one line contains a comma or a semicolon",
    () =>
      Effect.gen(function* () {
        yield* expectUrls(";", [";"])
        yield* expectUrls("one, two\nthree\n", ["one, two", "three"])
      }),
  )

  it.effect(
    "if the first row of a CSV contains a URL, that row is read as data, and the URL column is reported by its number",
    () =>
      Effect.gen(function* () {
        const expected = { columns: ["2"], urls: ["a.com", "b.com"] }
        assert.deepStrictEqual(yield* taken("1,a.com\n2,b.com\n", true), expected)
      }),
  )

  it.effect("a CSV may have one column, with a header or without", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* taken("url\na.com\n", true), {
        columns: ['"url"'],
        urls: ["a.com"],
      })
      assert.deepStrictEqual((yield* taken("a.com\nb.com", true)).urls, ["a.com", "b.com"])
    }),
  )

  it.effect("a CSV with URLs in two columns is rejected, and both columns are listed", () =>
    Effect.gen(function* () {
      const csv = "Source,Anchor,Target\na.com,here,b.com\nc.com,there,d.com\n"
      assert.include(
        yield* refusal(csv),
        'has more than one column with URLs; choose a column with --column: "Source" or "Target"',
      )
      assert.include(yield* refusal("a.com,b.com\n"), "choose a column with --column: 1 or 2")
    }),
  )

  it.effect("a CSV without URLs is rejected, and all its columns are listed", () =>
    Effect.gen(function* () {
      assert.include(
        yield* refusal("Rank,Site\n1,none\n"),
        'has no column with URLs; choose a column with --column: "Rank" or "Site"',
      )
    }),
  )

  it.effect("a list of URLs that contain commas is not read as a CSV", () =>
    Effect.gen(function* () {
      const lines = ["https://a.com/x,y", "https://b.com/x,y", "localhost,z"]
      assert.deepStrictEqual(yield* taken(lines.join("\n"), false), { columns: [], urls: lines })
    }),
  )
})
