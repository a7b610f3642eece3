import { assert, describe, it } from "@effect/vitest"
import { read } from "../../src/pages/UrlList.ts"

const urlsOf = (text: string) => read(text, { keepsDuplicates: false }).urls

describe("a list in the console", () => {
  it("a console list has one address per line, without blank lines, comments and byte order mark", () => {
    assert.deepStrictEqual(
      urlsOf("\uFEFFa.com\r\n\r\n  b.com  \n# a comment\nhttps://c.com/?q=1,2\r"),
      ["a.com", "b.com", "https://c.com/?q=1,2"],
    )
  })

  it("a console list omits and counts duplicates, unless the user keeps them", () => {
    const text = "a.com\nb.com\na.com\na.com"
    assert.deepInclude(read(text, { keepsDuplicates: false }), {
      urls: ["a.com", "b.com"],
      duplicates: 2,
    })
    assert.deepInclude(read(text, { keepsDuplicates: true }), { duplicates: 0 })
  })

  it("a console list keeps text that is not an address, so that the service reports it", () => {
    assert.deepStrictEqual(urlsOf("localhost\nnot a url\n=1+1"), ["localhost", "not a url", "=1+1"])
  })

  it("a pasted table is read from the column that has a usual name", () => {
    assert.deepStrictEqual(
      read('id,URL,note\n1,a.com,"x, y"\n2,"https://b.com/p,q",z\n', { keepsDuplicates: false }),
      { urls: ["a.com", "https://b.com/p,q"], duplicates: 0, column: "URL" },
    )
  })

  it("a pasted table without a usual column name is read from the column with the most addresses", () => {
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

  it("a console list skips its title, and splits a single line of many addresses", () => {
    assert.deepStrictEqual(urlsOf("Domain\na.com\nb.com"), ["a.com", "b.com"])
    assert.deepStrictEqual(urlsOf("a.com, b.com, c.com"), ["a.com", "b.com", "c.com"])
  })

  it("a console list may be empty or have 200,000 addresses", () => {
    assert.deepStrictEqual(urlsOf(" \n\n"), [])
    const long = Array.from({ length: 200_000 }, (_, index) => `site-${index}.com`)
    assert.strictEqual(urlsOf(long.join("\n")).length, 200_000)
  })
})
