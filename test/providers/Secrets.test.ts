import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as Secrets from "../../src/providers/vendors/Secrets.ts"

const secret = fc.string({ unit: "grapheme", minLength: 8, maxLength: 60 })

describe("secrets in text from a provider", () => {
  it.prop(
    "a secret is removed from a text that contains it in plain or percent-encoded form",
    { secret, before: fc.string({ maxLength: 10 }), after: fc.string({ maxLength: 10 }) },
    ({ after, before, secret }) => {
      const remove = Secrets.remover(["another secret", secret])
      const text = before + secret + after
      assert.notInclude(remove(text), secret)
      assert.notInclude(remove(encodeURIComponent(text)), encodeURIComponent(secret))
    },
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

  it("the possible secrets of a URL are its user name, password and query values of at least four characters, as written and percent-decoded", () => {
    assert.sameMembers(
      [...Secrets.partsOf("https://user:pass%20word@host/path?key=SEC%2FRET&v=2&BARETOKEN")],
      [
        "user",
        "pass%20word",
        "pass word",
        Secrets.basicOf("user:pass word"),
        "SEC%2FRET",
        "SEC/RET",
        "BARETOKEN",
      ],
    )
    assert.deepStrictEqual(Secrets.partsOf("https://host/?key=SECRET"), ["SECRET"])
    assert.include(Secrets.partsOf("https://50%zz@host"), "50%zz")
    assert.deepStrictEqual(Secrets.partsOf("no address"), [])
  })

  it("the password of a URL is removed from a text that contains the password percent-encoded, plain or as HTTP Basic sends it", () => {
    const address = "https://user:pass%20word@host/"
    const remove = Secrets.remover(Secrets.partsOf(address))
    assert.strictEqual(remove(address), "https://<redacted>:<redacted>@host/")
    assert.strictEqual(remove("user:pass word"), "<redacted>:<redacted>")
    assert.strictEqual(remove(Secrets.basicOf("user:pass word")), "<redacted>")
  })
})
