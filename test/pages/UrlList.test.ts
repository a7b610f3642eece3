import { assert, describe, it } from "@effect/vitest"
import { type Options, read, type Reading } from "../../src/pages/UrlList.ts"

const urlsOf = (text: string, reading?: Reading) =>
  read(text, { keepsDuplicates: false, reading }).items.map(({ url }) => url)

/** Reads a list and returns its URLs, its number of duplicates and the name of its URL column. */
const summary = (text: string, options: Options = { keepsDuplicates: false }) => {
  const { columns, duplicates, items, reading } = read(text, options)
  return {
    urls: items.map(({ url }) => url),
    duplicates,
    column: typeof reading === "number" ? columns[reading] : undefined,
  }
}

describe("a list in the console", () => {
  it("the console reads one URL from each line of a list, and skips blank lines, comments and a byte order mark", () => {
    assert.deepStrictEqual(
      urlsOf("\uFEFFa.com\r\n\r\n  b.com  \n# a comment\nhttps://c.com/?q=1,2\r"),
      ["a.com", "b.com", "https://c.com/?q=1,2"],
    )
  })

  it("the console removes and counts repeated URLs in a list, unless the user chooses to keep them", () => {
    const text = "a.com\nb.com\na.com\na.com"
    assert.deepInclude(summary(text), {
      urls: ["a.com", "b.com"],
      duplicates: 2,
    })
    assert.deepInclude(read(text, { keepsDuplicates: true }), { duplicates: 0 })
  })

  it("the console keeps list lines that are not URLs, so that the service can report them as failed URLs", () => {
    assert.deepStrictEqual(urlsOf("localhost\nnot a url\n=1+1"), ["localhost", "not a url", "=1+1"])
  })

  it("in a pasted table, the console reads the URLs from the column with a common name such as url", () => {
    assert.deepStrictEqual(summary('id,URL,note\n1,a.com,"x, y"\n2,"https://b.com/p,q",z\n'), {
      urls: ["a.com", "https://b.com/p,q"],
      duplicates: 0,
      column: "URL",
    })
  })

  it("if no column of a pasted table has a common name such as url, the console reads the column with the most URLs", () => {
    assert.deepStrictEqual(summary("1\ta.com\t5\n2\tb.org\t6"), {
      urls: ["a.com", "b.org"],
      duplicates: 0,
      column: "column 2",
    })
    assert.deepStrictEqual(urlsOf("Nr;Wert;Seite des Kunden\n1;2,5;a.com\n2;3,5;b.org"), [
      "a.com",
      "b.org",
    ])
  })

  it("the console skips the header line of a pasted list, and splits a line that contains several URLs", () => {
    assert.deepStrictEqual(urlsOf("Domain\na.com\nb.com"), ["a.com", "b.com"])
    assert.deepStrictEqual(urlsOf("a.com, b.com, c.com"), ["a.com", "b.com", "c.com"])
  })

  it("if a pasted table contains nothing but URLs, the console reads every cell", () => {
    const cells = ["a.com", "b.com", "c.com", "d.com"]
    assert.deepStrictEqual(urlsOf("a.com\tb.com\nc.com\td.com"), cells)
    assert.deepStrictEqual(urlsOf("a.com,b.com\nc.com,d.com"), cells)
    assert.deepStrictEqual(urlsOf("a.com,b.com\nc.com,"), ["a.com", "b.com", "c.com"])
  })

  it("the console splits a pasted line of several URLs, but does not split a URL at a comma", () => {
    assert.deepStrictEqual(urlsOf("a.com, b.com\nc.com\td.com\te.com\nf.com"), [
      "a.com",
      "b.com",
      "c.com",
      "d.com",
      "e.com",
      "f.com",
    ])
    assert.deepStrictEqual(urlsOf("https://a.com/x,https://b.com/y\nc.com\nd.com,e.com"), [
      "https://a.com/x",
      "https://b.com/y",
      "c.com",
      "d.com",
      "e.com",
    ])
    const whole = ["https://a.com/x,y.html", "https://a.com/?q=1,2", "b.com"]
    assert.deepStrictEqual(urlsOf(whole.join("\n")), whole)
  })

  it("the user chooses how the console reads a pasted table: one column, every cell, or whole lines", () => {
    const text = "url,competitor,da\na.com,x.com,1\nb.com,y.com,2"
    assert.deepStrictEqual(urlsOf(text, 1), ["x.com", "y.com"])
    assert.deepStrictEqual(urlsOf(text, "cells"), ["a.com", "x.com", "1", "b.com", "y.com", "2"])
    assert.deepStrictEqual(urlsOf("https://a.com/x,1\nhttps://b.com/y,2", "lines"), [
      "https://a.com/x,1",
      "https://b.com/y,2",
    ])
    assert.deepStrictEqual(urlsOf(text, 7), ["a.com", "b.com"])
    assert.deepStrictEqual(read(text, { keepsDuplicates: false, reading: 1 }).columns, [
      "url",
      "competitor",
      "da",
    ])
  })

  it("if several lines of a pasted table have the same URL, the console lists the URL once and keeps the other cells of each of these lines", () => {
    const { items, others } = read("id,url,note\n1,a.com,x\n2,b.com,y\n3,a.com,\n", {
      keepsDuplicates: false,
    })
    assert.deepStrictEqual(others, ["id", "note"])
    assert.deepStrictEqual(items, [
      {
        url: "a.com",
        lines: [
          ["1", "x"],
          ["3", ""],
        ],
      },
      { url: "b.com", lines: [["2", "y"]] },
    ])
  })

  it("the console reads an empty list, and a list of 200,000 URLs", () => {
    assert.deepStrictEqual(urlsOf(" \n\n"), [])
    const long = Array.from({ length: 200_000 }, (_, index) => `site-${index}.com`)
    assert.strictEqual(urlsOf(long.join("\n")).length, 200_000)
  })
})
