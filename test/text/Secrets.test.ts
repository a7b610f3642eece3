import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as Secrets from "../../src/text/Secrets.ts"
import { runs } from "../support/properties.ts"

const hex = (code: number, length: number) => code.toString(16).padStart(length, "0")

/** The encodings in which a provider may echo a secret. */
const spellings: Record<string, (secret: string, before: string, after: string) => string> = {
  plain: (secret, before, after) => before + secret + after,
  percent: (secret, before, after) => encodeURIComponent(before + secret + after),
  "percent, every character": (secret) =>
    Array.from(Buffer.from(secret), (byte) => `%${hex(byte, 2).toUpperCase()}`).join(""),
  "percent, twice": (secret) => encodeURIComponent(encodeURIComponent(secret)),
  form: (secret) => new URLSearchParams({ secret }).toString(),
  json: (secret, before, after) => JSON.stringify({ echo: before + secret + after }),
  "json, twice": (secret) => JSON.stringify(JSON.stringify({ secret })),
  "json, every character": (secret) =>
    secret
      .split("")
      .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
      .join(""),
  base64: (secret, before, after) => Buffer.from(before + secret + after).toString("base64"),
  base64url: (secret, before, after) => Buffer.from(before + secret + after).toString("base64url"),
}

const secret = fc.string({ unit: "grapheme", minLength: 8, maxLength: 60 })

describe("text from a provider", () => {
  it.prop(
    "a secret is removed from a text even if the text contains the secret in a common encoding such as base64",
    { secret, before: fc.string({ maxLength: 10 }), after: fc.string({ maxLength: 10 }) },
    ({ after, before, secret }) => {
      const remove = Secrets.remover(["another secret", secret])
      for (const [name, spell] of Object.entries(spellings)) {
        const text = remove(spell(secret, before, after))
        assert.include(text, "<redacted>", name)
        const bare = spell(secret, "", "").replaceAll(/^"|"$/g, "")
        if (!name.startsWith("base64")) assert.notInclude(text, bare, name)
      }
    },
    // Each run compiles a large pattern.
    { fastCheck: { numRuns: runs(5) } },
  )

  it.prop(
    "removing secrets from a text that contains no secret leaves the text unchanged",
    { text: fc.string() },
    ({ text }) => {
      assert.strictEqual(Secrets.remover(["a secret of this test"])(text), text)
      assert.strictEqual(Secrets.remover([""])(text), text)
    },
  )
})

describe("secrets in a URL", () => {
  it.each([
    ["https://api.moz.com/jsonrpc", "https://api.moz.com/jsonrpc"],
    ["https://host/?key=SECRET", "https://host/?key=…"],
    ["https://host/a?v=2&key=SECRET#part", "https://host/a?v=…&key=…#part"],
    ["https://host?SECRET", "https://host?…"],
    ["https://host?a=&SECRET&b=c=d", "https://host?a=&…&b=…"],
    ["https://TOKEN@host/", "https://…@host/"],
    ["https://user:SECRET@host/", "https://user:…@host/"],
    ["postgres://user:SEC@RET@host:5432/db?sslmode=x", "postgres://user:…@host:5432/db?sslmode=…"],
    ["https://user:SEC/RET?SEC#RET@host/", "https://user:…@host/"],
    ["sqlite:authority.db", "sqlite:authority.db"],
    ["600/1m", "600/1m"],
  ])("the value %s is shown as %s, without the secrets of a URL", (address, shown) => {
    assert.strictEqual(Secrets.hideIn(address), shown)
  })

  it("the possible secrets of a URL are its user name, password and query values of at least four characters, percent-decoded", () => {
    assert.deepStrictEqual(
      Secrets.partsOf("https://user:pass%20word@host/path?key=SEC%2FRET&v=2&BARETOKEN"),
      ["user", "pass word", "SEC/RET", "BARETOKEN"],
    )
    assert.deepStrictEqual(Secrets.partsOf("https://50%zz@host"), ["50%zz"])
    assert.deepStrictEqual(Secrets.partsOf("no address"), [])
  })

  it("the password of a URL is removed from a text, whether the text contains the password percent-encoded, plain or in base64", () => {
    const address = "https://user:pass%20word@host/"
    const remove = Secrets.remover(Secrets.partsOf(address))
    assert.strictEqual(remove(address), "https://<redacted>:<redacted>@host/")
    assert.strictEqual(remove("user:pass word"), "<redacted>:<redacted>")
    // HTTP Basic sends the decoded password in base64. The user name takes the first 7 characters.
    const basic = Buffer.from("user:pass word").toString("base64")
    assert.match(remove(basic.slice(7)), /^<redacted>.?=$/)
  })
})
