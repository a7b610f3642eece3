import { assert, describe, it } from "@effect/vitest"
import * as Address from "../../src/pages/console/Address.ts"

describe("an address in the console", () => {
  it("the parts of an address, joined, are the address", () => {
    for (const url of [
      "https://a.com:8080/b?c#d",
      "a.com",
      "not a url",
      "",
      "://",
      "javascript:alert(1)",
    ]) {
      const { host, rest, scheme } = Address.partsOf(url)
      assert.strictEqual(scheme + host + rest, url)
    }
    assert.deepStrictEqual(Address.partsOf("HTTP://a.com:80/b"), {
      scheme: "HTTP://",
      host: "a.com",
      rest: ":80/b",
    })
  })

  it("only an address of a web page gets a link", () => {
    assert.strictEqual(Address.linkOf("https://a.com/b?c"), "https://a.com/b?c")
    assert.strictEqual(Address.linkOf("a.com/b"), "http://a.com/b")
    for (const url of [
      "javascript:alert(1)//.",
      "ftp://a.com",
      "data:text/html,a.b",
      "localhost",
      "not a url",
      "a b.com",
    ]) {
      assert.isUndefined(Address.linkOf(url), url)
    }
  })
})
