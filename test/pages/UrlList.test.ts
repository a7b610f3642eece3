import { assert, describe, it } from "@effect/vitest"
import { read } from "../../src/pages/UrlList.ts"

const urlsOf = (text: string) => read(text, { keepsDuplicates: false }).urls

describe("a list", () => {
  it("has an address a line, however the lines end, without blanks, comments and the byte order mark", () => {
    assert.deepStrictEqual(
      urlsOf("\uFEFFa.com\r\n\r\n  b.com  \n# a comment\nhttps://c.com/?q=1,2\r"),
      ["a.com", "b.com", "https://c.com/?q=1,2"],
    )
  })

  it("leaves duplicates out and counts them, unless they are wanted", () => {
    const text = "a.com\nb.com\na.com\na.com"
    assert.deepInclude(read(text, { keepsDuplicates: false }), {
      urls: ["a.com", "b.com"],
      duplicates: 2,
    })
    assert.deepInclude(read(text, { keepsDuplicates: true }), { duplicates: 0 })
  })

  it("keeps what is no address, for the service to judge", () => {
    assert.deepStrictEqual(urlsOf("localhost\nnot a url\n=1+1"), ["localhost", "not a url", "=1+1"])
  })

  it("takes the column with the right name out of a table", () => {
    assert.deepStrictEqual(
      read('id,URL,note\n1,a.com,"x, y"\n2,"https://b.com/p,q",z\n', { keepsDuplicates: false }),
      { urls: ["a.com", "https://b.com/p,q"], duplicates: 0, column: "URL" },
    )
  })

  it("takes the column with the addresses where no name tells", () => {
    assert.deepStrictEqual(read("1\ta.com\t5\n2\tb.org\t6", { keepsDuplicates: false }), {
      urls: ["a.com", "b.org"],
      duplicates: 0,
      column: "column 2",
    })
    assert.deepStrictEqual(urlsOf("Nr;Wert;Seite des Kunden\n1;2,5;a.com\n2;3,5;b.org"), [
      "a.com",
      "b.org",
    ])
  })

  it("skips the head of a list of lines, and splits a line of many", () => {
    assert.deepStrictEqual(urlsOf("Domain\na.com\nb.com"), ["a.com", "b.com"])
    assert.deepStrictEqual(urlsOf("a.com, b.com, c.com"), ["a.com", "b.com", "c.com"])
  })

  it("may be empty, and may be very long", () => {
    assert.deepStrictEqual(urlsOf(" \n\n"), [])
    const long = Array.from({ length: 200_000 }, (_, index) => `site-${index}.com`)
    assert.strictEqual(urlsOf(long.join("\n")).length, 200_000)
  })
})
