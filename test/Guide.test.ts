/** Checks the links, headings and settings of the README and the guide. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Marked, type Token } from "marked"
import { makeIds, textOf, toHtml } from "../scripts/markdown.ts"
import manifest from "../package.json" with { type: "json" }
import { newest } from "../src/database/migrations/migrate.ts"
import * as Settings from "../src/Settings.ts"

const root = join(import.meta.dirname, "..")
const guide = join(root, "src/pages/guide")

const documents = [
  join(root, "README.md"),
  join(root, "scripts/bench/README.md"),
  ...readdirSync(guide).map((file) => join(guide, file)),
]

/** Returns the links, the image addresses and the heading ids of a document. */
const read = (file: string) => {
  const marked = new Marked()
  const links = new Array<string>()
  const ids = new Set<string>()
  const idOf = makeIds()
  marked.walkTokens(marked.lexer(readFileSync(file, "utf8")), (token: Token) => {
    if (token.type === "link" || token.type === "image") links.push(token["href"])
    if (token.type === "heading") ids.add(idOf(textOf(token["tokens"] ?? [])))
    if (token.type === "html") {
      for (const [, href = ""] of token.raw.matchAll(/ (?:href|src|srcset)="([^"]*)"/g)) {
        links.push(href)
      }
    }
  })
  return { links: links.filter((href) => !/^[a-z]+:/.test(href)), ids }
}

describe.each(documents.map((file) => relative(root, file)))("%s", (name) => {
  it("a document links only to files and headings that exist", () => {
    const file = join(root, name)
    for (const href of read(file).links) {
      const [path = "", id] = href.split("#")
      const target = path === "" ? file : join(dirname(file), path)
      assert.isTrue(existsSync(target), `${name} links to ${href}`)
      if (id !== undefined) assert.include(read(target).ids, id, `${name} links to ${href}`)
    }
  })
})

describe("the README", () => {
  it("the README links to every page of the guide", () => {
    const { links } = read(join(root, "README.md"))
    for (const file of readdirSync(guide)) assert.include(links, `src/pages/guide/${file}`)
  })
})

describe("the page about changes", () => {
  it("the page about changes begins with the version of the program and its schema", () => {
    const [, latest = ""] = readFileSync(join(guide, "changes.md"), "utf8").split(/^## /m)
    assert.match(latest, new RegExp(`^${manifest.version}\n\nSchema ${newest},`))
  })
})

describe("the page about operating", () => {
  it("the operating guide lists every setting with its default", () => {
    const text = readFileSync(join(guide, "operating.md"), "utf8")
    for (const { about } of Object.values(Settings.all)) {
      const value = about.default === undefined ? "–" : `\`${about.default}\``
      assert.include(text.replaceAll(/ +/g, " "), `| \`${about.name}\` | ${value} |`)
    }
  })
})

describe("a page of the guide as HTML", () => {
  const html = (markdown: string) => toHtml(`# Title\n\n${markdown}`, (href) => `to:${href}`).html

  it("code in a guide page is escaped in the HTML", () => {
    assert.include(html("```\n<b>&\n```"), "&lt;b&gt;&amp;")
    assert.include(html("`<script>`"), "<code>&lt;script&gt;</code>")
  })

  it("the headings of a guide page have the same ids as on GitHub", () => {
    const ids = [...html("## A `b`, c!\n\n## Back-up\n\n## Back-up").matchAll(/ id="(.*?)"/g)]
    assert.deepStrictEqual(
      ids.map(([, id]) => id),
      ["a-b-c", "back-up", "back-up-1"],
    )
  })
})
