import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import { Target } from "../../src/check/Target.ts"
import { runs } from "../support/properties.ts"

const ok = (input: string): Target =>
  Either.getOrThrowWith(
    Target.parse(input),
    ({ message }) => new Error(`should be valid: ${message}`),
  )

const problemOf = (input: string): string =>
  Either.match(Target.parse(input), {
    onLeft: ({ problem }) => problem,
    onRight: ({ page }) => assert.fail(`should be invalid, is ${page}`),
  })

const label63 = "a".repeat(63)
/** 253 characters, the maximum length of a host name. */
const longestHost = [label63, label63, label63, "a".repeat(57), "com"].join(".")

describe("a submitted string is parsed to a target", () => {
  it.each<[input: string, host: string, domain: string, page: string]>([
    ["example.com", "example.com", "example.com", "example.com/"],
    ["www.example.com", "www.example.com", "example.com", "www.example.com/"],
    ["https://example.com", "example.com", "example.com", "example.com/"],
    ["http://example.com/", "example.com", "example.com", "example.com/"],
    ["HTTPS://example.com", "example.com", "example.com", "example.com/"],
    ["//example.com/a", "example.com", "example.com", "example.com/a"],
    ["https:example.com", "example.com", "example.com", "example.com/"],
    ["example.com/a/b?c=d&e", "example.com", "example.com", "example.com/a/b?c=d&e"],
    ["example.com?q", "example.com", "example.com", "example.com/?q"],
    ["a.b.example.co.uk/x", "a.b.example.co.uk", "example.co.uk", "a.b.example.co.uk/x"],
    // Example domains are accepted like any other domain.
    ["example.org", "example.org", "example.org", "example.org/"],
    ["example.net", "example.net", "example.net", "example.net/"],
    ["example.com/@a", "example.com", "example.com", "example.com/@a"],
    ["https://example.com?a@b", "example.com", "example.com", "example.com/?a@b"],
    ["https:\\\\example.com\\@a", "example.com", "example.com", "example.com/@a"],
    ["example.com#@a", "example.com", "example.com", "example.com/"],
    // A colon after the host that does not start a port.
    ["example.com/a:b", "example.com", "example.com", "example.com/a:b"],
    ["example.com?a:b", "example.com", "example.com", "example.com/?a:b"],
    // Surrounding spaces are removed.
    ["  example.com\n", "example.com", "example.com", "example.com/"],
    ["\uFEFFexample.com", "example.com", "example.com", "example.com/"],
    ["example.com/a b", "example.com", "example.com", "example.com/a%20b"],
    // Forms that browsers and WHATWG URL accept.
    ["https:\\\\example.com\\a", "example.com", "example.com", "example.com/a"],
    ["ex%61mple.com", "example.com", "example.com", "example.com/"],
    ["example.com/a/../b", "example.com", "example.com", "example.com/b"],
    // Private suffixes are treated as domains.
    ["github.io", "github.io", "github.io", "github.io/"],
    ["octocat.github.io", "octocat.github.io", "github.io", "octocat.github.io/"],
    // Exceptions of the Public Suffix List.
    ["www.ck", "www.ck", "www.ck", "www.ck/"],
    ["city.kawasaki.jp", "city.kawasaki.jp", "city.kawasaki.jp", "city.kawasaki.jp/"],
    // Underscores: not allowed by RFC 1123, but in use.
    ["a_b.example.com", "a_b.example.com", "example.com", "a_b.example.com/"],
    ["_dmarc.example.com", "_dmarc.example.com", "example.com", "_dmarc.example.com/"],
    ["1.com", "1.com", "1.com", "1.com/"],
    ["xn--fa-hia.de", "xn--fa-hia.de", "xn--fa-hia.de", "xn--fa-hia.de/"],
  ])(
    "the string %j is parsed to a target with the expected host, domain and page",
    (input, host, domain, page) => {
      const target = ok(input)
      assert.deepStrictEqual([target.host, target.domain, target.page], [host, domain, page])
      assert.strictEqual(target.url, `https://${page}`)
    },
  )

  it("a host may have up to 253 characters, with up to 63 in each label", () => {
    assert.strictEqual(ok(`${label63}.com`).host, `${label63}.com`)
    assert.strictEqual(longestHost.length, 253)
    assert.strictEqual(ok(longestHost).host, longestHost)
    assert.strictEqual(ok(`${longestHost}.`).host, longestHost)
  })
})

describe("a host with non-ASCII letters is converted to ASCII", () => {
  it.each([
    ["faß.de", "xn--fa-hia.de"],
    ["bücher.example.com", "xn--bcher-kva.example.com"],
    ["BÜCHER.example.com", "xn--bcher-kva.example.com"],
    ["президент.рф", "xn--d1abbgf6aiiy.xn--p1ai"],
    ["例.公司.cn", "xn--fsq.xn--55qx5d.cn"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["example\u3002com", "example.com"],
    ["example\uFF0Ecom", "example.com"],
    ["example\uFF61com", "example.com"],
    ["example.com\u3002", "example.com"],
    ["exam\u00ADple.com", "example.com"],
  ])("the host %j is converted to ASCII", (input, host) => {
    assert.strictEqual(ok(input).host, host)
  })
})

describe("which URLs have the same target", () => {
  it.each([
    ["the scheme", "http://example.com/a", "https://example.com/a"],
    ["a missing scheme", "example.com/a", "https://example.com/a"],
    ["the letter case of scheme and host", "HtTp://EXAMPLE.Com/a", "https://example.com/a"],
    ["a trailing dot of the host", "example.com./a", "example.com/a"],
    ["the default port of https", "https://example.com:443/a", "https://example.com/a"],
    ["the default port of http", "http://example.com:80/a", "http://example.com/a"],
    ["a default port without a scheme", "example.com:443/a", "example.com:80/a"],
    ["an empty port", "example.com:/a", "example.com/a"],
    ["a fragment", "example.com/a#b", "example.com/a"],
    ["a missing path", "example.com", "example.com/"],
    ["an empty query", "example.com/a?", "example.com/a"],
    ["the Unicode or ASCII form of the host", "https://faß.de", "xn--fa-hia.de"],
    ["the letter case of an escape", "https://example.com/%c3%a9", "https://example.com/%C3%A9"],
    ["an escape of a letter outside ASCII", "example.com/é?é", "example.com/%c3%a9?%c3%A9"],
    ["escapes of unreserved characters", "example.com/%7ea%2D?%5F%31", "example.com/~a-?_1"],
    ["invisible characters at the ends", "\u202Aexample.com/a\u202C\u200B \u00A0", "example.com/a"],
  ])("two URLs that differ only in %s have the same target", (_, one, other) => {
    assert.strictEqual(ok(one).page, ok(other).page)
  })

  it.each([
    ["the prefix www", "www.example.com", "example.com"],
    ["the path", "example.com/a", "example.com/"],
    ["the letter case of the path", "example.com/A", "example.com/a"],
    ["a trailing slash of the path", "example.com/a/", "example.com/a"],
    ["the query", "example.com/?a", "example.com/"],
    ["the domain ending", "example.co.uk", "example.com"],
    ["an escape of a reserved character", "example.com/a%2Fb", "example.com/a/b"],
    ["an escape that is escaped", "example.com/%2541", "example.com/%41"],
    ["a sign that begins no escape", "example.com/%%341", "example.com/%41"],
    ["half an escape", "example.com/%4%31", "example.com/%41"],
    ["an invisible character inside the path", "example.com/a\u200Bb", "example.com/ab"],
  ])("two URLs that differ in %s have different targets", (_, one, other) => {
    assert.notStrictEqual(ok(one).page, ok(other).page)
  })
})

describe("a string that is not a public web address", () => {
  const scheme = "only http and https addresses can be checked"
  const unparseable = "it is not a domain or a URL"
  const port = "only the default ports can be checked"
  const user = "it contains a user name"
  const address = "it is an IP address"
  const host = "its host is not a valid domain name"
  const ending = "its host is not under a public domain ending"
  const suffix = "it is a public suffix, not a domain"
  const control = "it contains a control character"

  const listed = (text: string) => text.trim().split(/\s+/)

  it.each<[kind: string, problem: string, inputs: ReadonlyArray<string>]>([
    ["no host", unparseable, ["", " ", "\t\n", "/", "//", "https://", "?example.com", "#"]],
    ["a bad character", unparseable, ["exa mple.com", "https://exa mple.com/", "a<b.com"]],
    // A scheme with dots looks like a host with an empty port.
    [
      "a scheme other than http and https",
      scheme,
      listed(`
        ftp://example.com file:///etc/passwd wss://example.com/ mailto:a@example.com
        javascript:alert(1) data:text/html,example.com blob:https://example.com/a about:blank
        view-source:https://example.com tel:+15550100 httpss://example.com
        com.example.app://callback example.com://callback`),
    ],
    [
      "an IPv4 address in any form",
      address,
      listed(`
        127.0.0.1 192.0.2.1. http://8.8.8.8/ 8.8.8.8:80 0x7f.1 2130706433 1.2.3 017700000001
        １２７.0.0.1 127。0。0。1 https:80`),
    ],
    ["an IPv6 address", address, ["[::1]", "http://[2001:db8::1]/", "[::ffff:8.8.8.8]:443"]],
    ["a number as the last label", unparseable, ["1.2.3.4.5", "256.256.256.256", "example.1"]],
    ["a single label", ending, ["localhost", "example", "http://intranet/", "printer:80"]],
    [
      "a bare public suffix",
      suffix,
      listed("com uk co.uk https://co.uk/ 公司.cn foo.ck kawasaki.jp com."),
    ],
    [
      "a user name",
      user,
      listed(String.raw`
        user@example.com https://user:pw@example.com https://:pw@example.com //u@a.com
        https://@example.com https://:@example.com https:@example.com https:///@example.com/a
        https:\\:@example.com //@example.com @example.com :@example.com`),
    ],
    ["a user name before a port", scheme, ["user:pw@example.com", "user:80@example.com"]],
    [
      "a port that is not the default",
      port,
      listed(`
        example.com:8080 example.com:8080/a https://example.com:8443 https://example.com:80
        http://example.com:443 example.com:0`),
    ],
    ["an invalid port", unparseable, ["example.com:65536", "https://example.com:http/"]],
    [
      "an invalid DNS label",
      host,
      listed(`
        -bad-.com -bad.com bad-.com a..b.com .com .example.com example.com.. a$b.com *.example.com
        a~b.example.com ${"a".repeat(64)}.com ${"ü".repeat(60)}.com a_b.com`),
    ],
    ["a host of more than 253 characters", host, [`a${longestHost}`, `a.${longestHost}`]],
    [
      "a special-use domain",
      ending,
      listed(`
        localhost app.localhost a.test a.invalid a.example printer.local db.internal a.onion
        facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion router.home.arpa
        1.0.0.127.in-addr.arpa a.alt A.ONION.`),
    ],
    ["an unknown domain ending", ending, ["example.notatld", "example.c0m", "example.com.nope"]],
    [
      "a control character among letters",
      control,
      ["exam\tple.com", "exam\nple.com", "example.com/a\rb", "java\nscript:alert(1)"],
    ],
    [
      "a control character that is no blank",
      control,
      ["example.com\0/", "example.com/\0a", "example.com/\x7Fa", "https://example.com/\x1Ba"],
    ],
  ])("a URL with %s is refused", (_, problem, inputs) => {
    assert.deepStrictEqual(
      inputs.map((input) => [input, problemOf(input)]),
      inputs.map((input) => [input, problem]),
    )
  })

  it("the message for a refused URL shows its invisible characters", () => {
    const message = Either.match(Target.parse("exam\tple.com"), {
      onLeft: (invalid) => invalid.message,
      onRight: () => "",
    })
    assert.strictEqual(message, String.raw`"exam\tple.com": it contains a control character`)
  })
})

/** Any UTF-16 code units, including single surrogates. */
const codeUnits = (maxLength: number, min = 0) =>
  fc
    .array(fc.integer({ min, max: 0xffff }), { maxLength })
    .map((units) => String.fromCharCode(...units))

/** Characters with a special meaning in a URL. */
const special = fc.constantFrom(
  ..."abz019-_.:/\\@?#[]%&=+~*'\"<>| \t\n\0ßü。．",
  "%2e",
  "%2F",
  "xn--",
  "..",
  "\uD800",
  "\uDC00",
  "😀",
)
const nearlyUrl = fc
  .tuple(
    fc.constantFrom("", "http://", "https://", "//", "HTTP:", "ftp://", "http:\\\\"),
    fc.constantFrom("example.com", "www.example.co.uk", "faß.de", "a_b.example.org", "", "[::1]"),
    fc.constantFrom("", ".", ":80", ":443", ":8080", ":"),
    fc.constantFrom("", "/", "?", "#", "\\"),
    fc.oneof(fc.string({ unit: special, maxLength: 20 }), codeUnits(20)),
  )
  .map((parts) => parts.join(""))

describe("any string", () => {
  const anything = fc.oneof(
    { weight: 1, arbitrary: codeUnits(1000).filter((text) => text !== "") },
    { weight: 2, arbitrary: fc.string({ unit: special, minLength: 1, maxLength: 30 }) },
    { weight: 1, arbitrary: fc.webUrl({ withFragments: true, withQueryParameters: true }) },
    { weight: 3, arbitrary: nearlyUrl },
  )

  it.prop(
    "any string parses without a throw, and the URL of a target parses to the same target",
    { input: anything },
    ({ input }) => {
      const parsed = Target.parse(input)
      if (Either.isLeft(parsed)) {
        assert.strictEqual(parsed.left.input, input)
        assert.notStrictEqual(parsed.left.problem, "")
        return
      }
      const { domain, host, page, url } = parsed.right
      const again = ok(url)
      assert.deepStrictEqual([again.host, again.domain, again.page], [host, domain, page])
      assert.strictEqual(URL.parse(url)?.href, url)
      assert.match(host, /^[a-z0-9_.-]+$/)
      assert.isTrue(host === domain || host.endsWith(`.${domain}`))
    },
    { fastCheck: { numRuns: runs(750) } },
  )

  it.prop(
    "a URL is accepted whatever non-ASCII characters its path contains, and is parsed to a page on the URL's own host",
    { tail: codeUnits(900, 0x80) },
    ({ tail }) => {
      const { host, page } = ok(`example.com/${tail}`)
      assert.strictEqual(host, "example.com")
      assert.isTrue(page.startsWith("example.com/"))
    },
  )
})
