/** Checks the links, headings and settings of the README and the guide. */
import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "acorn"
import { simple } from "acorn-walk"
import { transformSync } from "esbuild"
import { Marked, type Token } from "marked"
import { makeIds, textOf, toHtml } from "../scripts/markdown.ts"
import manifest from "../package.json" with { type: "json" }
import { newest } from "../src/sql/Migrations.ts"
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

  it("the README has at most 9 kB", () => {
    assert.isAtMost(statSync(join(root, "README.md")).size, 9000)
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

describe("the page about monitoring", () => {
  const text = readFileSync(join(guide, "monitoring.md"), "utf8")
  const under = (heading: string) =>
    text.split(/^#+ /m).find((section) => section.startsWith(`${heading}\n`)) ?? ""
  const firstCells = (heading: string) =>
    [...under(heading).matchAll(/^- `(.+?)`[:,]/gm)].map(([, cell = ""]) => cell)

  it.each([
    ["Warnings", "logWarning"],
    ["Errors", "logError"],
  ])("the monitoring guide explains the log lines under %s by how they begin", (heading, name) => {
    const logged = new Set(sources.flatMap((file) => messagesOf(file, name)))
    const explained = firstCells(heading)
    const explains = (line: string) => explained.filter((start) => line.startsWith(start))
    for (const line of logged) assert.lengthOf(explains(line), 1, line)
    assert.strictEqual(explained.length, logged.size)
  })

  it("the monitoring guide explains every alert of alerts.yml", () => {
    const rules = readFileSync(join(root, "scripts/deploy/alerts.yml"), "utf8")
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    assert.deepStrictEqual(firstCells("Alerts"), alerts)
    for (const [name] of rules.matchAll(/authority_\w+/g)) {
      assert.include(under("Metrics"), name.replace(/_bucket$/, ""))
    }
  })

  it("the monitoring guide explains every reason of a failed provider call", () => {
    const declared = /readonly reason:((?:\s*\|? "\w+")+)/.exec(
      readFileSync(join(root, "src/providers/MetricsProvider.ts"), "utf8"),
    )
    const reasons = [...(declared?.[1] ?? "").matchAll(/"(\w+)"/g)].map(([, reason]) => reason)
    assert.sameMembers(firstCells("Reasons of failed calls"), reasons)
  })
})

const sources = globSync("src/**/*.ts", { cwd: root }).map((file) => join(root, file))

/** The messages that a source file logs with this function. `…` stands for inserted values. */
const messagesOf = (file: string, name: string) => {
  const source = readFileSync(file, "utf8")
  if (!source.includes(`.${name}(`)) return []
  const { code } = transformSync(source, { loader: "ts" })
  const messages = new Array<string>()
  simple(parse(code, { ecmaVersion: "latest", sourceType: "module" }), {
    CallExpression: ({ arguments: [message], callee }) => {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return
      if (callee.property.name !== name) return
      if (message?.type === "TemplateLiteral") {
        messages.push(message.quasis.map(({ value }) => value.cooked).join("…"))
      } else if (message?.type === "Literal") messages.push(String(message.value))
      else assert.fail(`${relative(root, file)} logs a text that is not written in ${name}`)
    },
  })
  return messages
}

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

  it("the contents of a guide page are its headings, without markup", () => {
    assert.deepStrictEqual(toHtml("# T\n\n## A `b`\n\ntext\n\n### C & d", () => "").headings, [
      { id: "a-b", text: "A b", depth: 2 },
      { id: "c--d", text: "C & d", depth: 3 },
    ])
  })

  it("a guide page that contains HTML or images is refused", () => {
    assert.throws(() => html("<p style='color: red'>"), /contains no HTML/)
    assert.throws(() => html("a <b>word</b>"), /contains no HTML/)
    assert.throws(() => html("![](x.png)"), /shows no images/)
  })

  it("the Markdown converter gives each link the address that a given function returns, and turns a link into plain text when the function returns no address", () => {
    assert.include(html("[a](b.md#c)"), '<a href="to:b.md#c">a</a>')
    assert.include(toHtml("# T\n\n[a](b)", () => undefined).html, "<p>a</p>")
  })
})
