/** Tests how the service serves the console and the documents. */
import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makePages } from "../../scripts/pages.ts"
import type { Answer } from "../support/RawHttp.ts"
import { PagePath } from "../../src/http/documents/BuiltPage.ts"
import { shared, start } from "../support/TestServer.ts"

const paths = PagePath.literals

const running = shared({ adminToken: "a-token-for-the-tests-of-32-chars" })

it.scopedLive("the root path redirects browsers to the console, others to the docs", () =>
  Effect.gen(function* () {
    const { send } = yield* running
    const browser = yield* send({ path: "/", headers: { accept: "text/html,*/*;q=0.8" } })
    assert.deepStrictEqual([browser.status, browser.headers["location"]], [302, "console"])
    for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
      const other = yield* send({ path: "/", headers })
      assert.deepStrictEqual([other.status, other.headers["location"]], [302, "docs"])
    }
  }),
)

const hashOf = ([, content = ""]: RegExpExecArray) =>
  `'sha256-${createHash("sha256").update(content).digest("base64")}'`

describe.each(paths)("the web page %s", (path) => {
  it.scopedLive("a web page is one document whose policy allows only its own scripts", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      const { headers, status, text } = yield* send({ path })
      assert.strictEqual(status, 200)
      assert.strictEqual(headers["content-type"], "text/html; charset=utf-8")
      const policy = String(headers["content-security-policy"]).split("; ")
      for (const rule of [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]) {
        assert.include(policy, rule)
      }
      const scripts = [...text.matchAll(/<script\b[^>]*>(.*?)<\/script>/gs)].map(hashOf)
      const styles = [...text.matchAll(/<style\b[^>]*>(.*?)<\/style>/gs)].map(hashOf)
      // Scalar adds styles to the API reference, and computes hashes with WebAssembly.
      const isScalar = path === "/docs"
      assert.deepStrictEqual(
        policy.filter((rule) => /^(script|style|connect)-/.test(rule)),
        [
          `style-src ${isScalar ? "'unsafe-inline'" : styles.join(" ")}`,
          ...(scripts.length === 0
            ? []
            : [
                `script-src ${[...scripts, ...(isScalar ? ["'wasm-unsafe-eval'"] : [])].join(" ")}`,
                "connect-src 'self'",
              ]),
        ],
      )
      const markup = text.replaceAll(/<(script|style)\b[^>]*>.*?<\/\1>/gs, "")
      assert.notMatch(
        markup,
        /\b(src|href)="?(https?:)?\/\//,
        "the page loads nothing from another host",
      )
      assert.notMatch(
        markup,
        /<[^>]*\s(style|on\w+)=/,
        "the policy blocks inline styles and handlers",
      )
    }),
  )

  it.scopedLive("a web page is kept from other sites, cached by its ETag, and only read", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      const { headers } = yield* send({ path })
      assert.deepInclude(headers, {
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-cache",
      })
      assert.property(headers, "permissions-policy")

      const known = yield* send({ path, headers: { "if-none-match": headers.etag } })
      assert.deepStrictEqual([known.status, known.text], [304, ""])
      const changed = yield* send({ path, headers: { "if-none-match": 'W/"another"' } })
      assert.strictEqual(changed.status, 200)

      const slash = yield* send({ path: `${path}/?a=b` })
      assert.strictEqual(slash.status, 308)
      const page = new URL(String(slash.headers.location), `http://host/mount${path}/?a=b`)
      assert.strictEqual(page.pathname, `/mount${path}`)

      const post = yield* send({ path, method: "POST" })
      assert.deepStrictEqual([post.status, post.headers.allow], [405, "GET"])
    }),
  )

  it.scopedLive("a web page is compressed for a browser that accepts gzip", () =>
    Effect.gen(function* () {
      const { send, url } = yield* running
      const plain = yield* send({ path })
      assert.isUndefined(plain.headers["content-encoding"])
      assert.strictEqual(plain.headers["vary"], "accept-encoding")
      const packed = yield* Effect.promise(async () => {
        // `fetch` would decompress the body.
        const { get } = await import("node:http")
        return new Promise<Buffer>((resolve) =>
          get(url + path, { headers: { "accept-encoding": "br, gzip" } }, (response) => {
            assert.strictEqual(response.headers["content-encoding"], "gzip")
            const chunks: Array<Buffer> = []
            response.on("data", (chunk: Buffer) => chunks.push(chunk))
            response.on("end", () => resolve(Buffer.concat(chunks)))
          }),
        )
      })
      assert.isBelow(packed.length, path === "/docs" ? 1_100_000 : 100_000)
      assert.strictEqual(gunzipSync(packed).toString(), plain.text)
      const refused = yield* send({ path, headers: { "accept-encoding": "gzip;q=0" } })
      assert.strictEqual(refused.text, plain.text)
    }),
  )
})

describe("the console page", () => {
  it.scopedLive("the console page says when the figures may be synthetic", () =>
    Effect.gen(function* () {
      const real = yield* (yield* running).send({ path: "/console" })
      const made = yield* (yield* start({ hasSyntheticFigures: true })).send({ path: "/console" })
      assert.notInclude(real.text, "<html data-figures")
      assert.strictEqual(made.text, real.text.replace("<html", '<html data-figures="synthetic"'))
    }),
  )
})

describe("the guide under /docs", () => {
  it("every Markdown file of the guide has a web page", () => {
    const files = readdirSync(join(import.meta.dirname, "../../src/pages/guide"))
    assert.deepStrictEqual(
      files.map((file) => `/docs/guide/${file.replace(/\.md$/, "")}`).sort(),
      paths.filter((path) => path.startsWith("/docs/guide/")).sort(),
    )
  })

  it.scopedLive("every guide page lists the pages by reader, and its own headings", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      for (const path of paths.filter((path) => path.startsWith("/docs/guide/"))) {
        const { text } = yield* send({ path })
        const [, clients = "", operators = "", engineers = ""] = text.split(/<h2>For \w+<\/h2>/)
        assert.include(clients, 'href="client"')
        assert.notMatch(clients, /href="(operating|monitoring)"/)
        for (const name of ["operating", "monitoring", "postgresql"]) {
          assert.include(operators, `href="${name}"`)
        }
        assert.include(engineers, 'href="design"')
        for (const [, id] of text.matchAll(/<h[23] id="(.*?)"/g)) {
          assert.include(text, `<a href="#${id}">`)
        }
      }
    }),
  )

  it.scopedLive("an unknown guide page gets 404", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      for (const path of ["/docs/guide/unknown", "/docs/guide", "/docs/guide/operating.md"]) {
        const { status, text } = yield* send({ path })
        assert.strictEqual(status, 404)
        assert.strictEqual(JSON.parse(text).success, false)
      }
    }),
  )

  it.scopedLive("the guide lists all its pages, and all links work under any mount path", () =>
    Effect.gen(function* () {
      const { send } = yield* running
      const linked = new Set<string>()
      const answers = new Map<string, Answer>()
      for (const path of paths.filter((path) => path.startsWith("/docs"))) {
        const { text } = yield* send({ path })
        for (const [, href = ""] of text.matchAll(/<a href="([^"]*)"/g)) {
          const { hash, pathname } = new URL(href, `http://host/mount${path}`)
          assert.match(pathname, /^\/mount\//, `${href} on ${path} stays within the service`)
          const target = pathname.slice("/mount".length)
          linked.add(target)
          const page = answers.get(target) ?? (yield* send({ path: target }))
          answers.set(target, page)
          assert.strictEqual(page.status, 200, `${href} on ${path}`)
          if (hash !== "") assert.include(page.text, ` id="${hash.slice(1)}"`, `${href} on ${path}`)
        }
      }
      for (const path of paths) if (path.startsWith("/docs/guide/")) assert.include(linked, path)
    }),
  )
})

describe("the build of the pages", () => {
  it("two builds of the web pages give the same bytes", async () => {
    assert.deepStrictEqual(await makePages(), await makePages())
  })
})
