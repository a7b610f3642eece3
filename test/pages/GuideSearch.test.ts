import { assert, describe, it } from "@effect/vitest"
import { find } from "../../src/pages/GuideSearch.ts"

const section = (heading: string, text: string, page = "Operating") => ({
  page,
  heading,
  href: `operating#${heading}`,
  text,
})

const headings = (query: string, limit = 10) =>
  find(sections, query, limit).map(({ heading }) => heading)

const long = "word ".repeat(100)

const sections = [
  section("Retries", "A request with an Idempotency-Key is charged once.", "Clients"),
  section("The settings", "AUTHORITY_PORT (8080) is the port. The port is public."),
  section("The port", "See the settings."),
  section("Long", `${long}needle.* ${long}`),
]

describe("the search of the guide", () => {
  it("the search finds the sections that have every word of the query, in upper or lower case", () => {
    assert.deepStrictEqual(headings("idempotency KEY"), ["Retries"])
    assert.deepStrictEqual(headings("clients charged"), ["Retries"])
    assert.deepStrictEqual(headings("idempotency port"), [])
    assert.deepStrictEqual(headings("  "), [])
  })

  it("a section with the word in its heading comes before sections with the word in their text", () => {
    assert.deepStrictEqual(headings("port"), ["The port", "The settings"])
    assert.deepStrictEqual(headings("port", 1), ["The port"])
  })

  it("the excerpt of a section contains the words of the query, marked, whatever signs they have", () => {
    const [found] = find(sections, "Needle.*", 1)
    const excerpt = found?.excerpt ?? []
    assert.deepStrictEqual(
      excerpt.filter(({ isMatch }) => isMatch).map(({ text }) => text),
      ["needle.*"],
    )
    const text = excerpt.map(({ text }) => text).join("")
    assert.match(text, /^… word .* word …$/)
    assert.isBelow(text.length, 200)
    assert.deepStrictEqual(
      find(sections, "(8080) port", 1)[0]?.excerpt.map(({ text }) => text),
      ["AUTHORITY_", "PORT", " ", "(8080)", " is the ", "port", ". The ", "port", " is public."],
    )
  })
})
