import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { BatchRequest } from "../../src/contract/Api.ts"
import {
  decoder,
  fromParseIssue,
  invalidContentType,
  invalidJson,
  Issue,
} from "../../src/contract/Issues.ts"
import { runs } from "../support/properties.ts"

const decode = (body: unknown) => decoder(BatchRequest)(JSON.parse(JSON.stringify(body)))
const decodeWhole = ParseResult.decodeUnknownEither(BatchRequest, { errors: "all" })

/** Returns the issues of a body, or an empty list if the body is valid. */
const issuesOf = (body: unknown): ReadonlyArray<Issue> =>
  Either.getOrElse(Either.flip(decode(body)), () => [])

const url = "example.com"

const exactly = { inclusive: true, exact: false } as const
const ofList = { type: "array", ...exactly, path: ["urls"] } as const
const urlsTooFew = {
  code: "too_small",
  minimum: 1,
  ...ofList,
  message: "Array must contain at least 1 element(s)",
} as const
const urlsTooMany = {
  code: "too_big",
  maximum: 50,
  ...ofList,
  message: "Array must contain at most 50 element(s)",
} as const
const ofUrl = (index: string) => ({ type: "string", ...exactly, path: ["urls", index] }) as const
const urlTooShort = (index: string) =>
  ({
    code: "too_small",
    minimum: 1,
    ...ofUrl(index),
    message: "String must contain at least 1 character(s)",
  }) as const
const urlTooLong = (index: string) =>
  ({
    code: "too_big",
    maximum: 1000,
    ...ofUrl(index),
    message: "String must contain at most 1000 character(s)",
  }) as const
const wrongType = (expected: string, received: string, path: ReadonlyArray<string>) =>
  ({
    code: "invalid_type",
    expected,
    received,
    message: `Expected ${expected}, received ${received}`,
    path,
  }) as const

describe("a valid body", () => {
  it.each<[name: string, body: unknown]>([
    ["one URL", { urls: [url] }],
    ["50 URLs", { urls: Array(50).fill(url) }],
    ["a URL of 1 character", { urls: ["a"] }],
    ["a URL of 1,000 UTF-16 code units", { urls: ["a".repeat(1000)] }],
    ["a URL of 500 characters of two code units each", { urls: ["😀".repeat(500)] }],
    ["half of a surrogate pair", { urls: ["\uD83D"] }],
    ["unknown fields", { urls: [url], limit: 5, success: false, __proto__: { urls: [] } }],
  ])("a body with %s has no issues", (_, body) => {
    assert.deepStrictEqual(issuesOf(body), [])
  })

  it("unknown fields are removed from a valid body", () => {
    assert.deepStrictEqual(decodeWhole({ urls: [url], more: 1 }), Either.right({ urls: [url] }))
  })
})

describe("the issue reported for a violated constraint", () => {
  it.each<[name: string, body: unknown, issue: Issue]>([
    ["no URLs", { urls: [] }, urlsTooFew],
    ["51 URLs", { urls: Array(51).fill(url) }, urlsTooMany],
    ["an empty URL", { urls: [""] }, urlTooShort("0")],
    ["a URL of 1,001 characters", { urls: [url, "a".repeat(1001)] }, urlTooLong("1")],
    [
      "a URL of 501 characters and 1,001 code units",
      { urls: [`a${"😀".repeat(500)}`] },
      urlTooLong("0"),
    ],
    ["no field urls", {}, { ...wrongType("array", "undefined", ["urls"]), message: "Required" }],
    ["null as urls", { urls: null }, wrongType("array", "null", ["urls"])],
    ["a string as urls", { urls: url }, wrongType("array", "string", ["urls"])],
    ["an object as urls", { urls: { 0: url } }, wrongType("array", "object", ["urls"])],
    ["null as a URL", { urls: [null] }, wrongType("string", "null", ["urls", "0"])],
    ["a number as a URL", { urls: [url, 7] }, wrongType("string", "number", ["urls", "1"])],
    ["a boolean as a URL", { urls: [true] }, wrongType("string", "boolean", ["urls", "0"])],
    ["an array as a URL", { urls: [[url]] }, wrongType("string", "array", ["urls", "0"])],
    ["an object as a URL", { urls: [{ url }] }, wrongType("string", "object", ["urls", "0"])],
    ["null as its body", null, wrongType("object", "null", [])],
    ["an array as its body", [url], wrongType("object", "array", [])],
    ["an empty array as its body", [], wrongType("object", "array", [])],
    ["a string as its body", url, wrongType("object", "string", [])],
    ["a number as its body", 7, wrongType("object", "number", [])],
    ["a boolean as its body", false, wrongType("object", "boolean", [])],
  ])("a request with %s has one issue, with the path of the value", (_, body, issue) => {
    assert.deepStrictEqual(issuesOf(body), [issue])
  })
})

describe("several violations in one request", () => {
  it("all invalid URLs of a request are reported, in their order", () => {
    assert.deepStrictEqual(issuesOf({ urls: ["", 3, url, null, "a".repeat(1001), {}] }), [
      urlTooShort("0"),
      wrongType("string", "number", ["urls", "1"]),
      wrongType("string", "null", ["urls", "3"]),
      urlTooLong("4"),
      wrongType("string", "object", ["urls", "5"]),
    ])
  })

  it("a list that is too long is reported together with its invalid URLs", () => {
    const issues = issuesOf({ urls: ["", ...Array(49).fill(url), false] })
    assert.sameDeepMembers(
      [...issues],
      [urlTooShort("0"), wrongType("string", "boolean", ["urls", "50"]), urlsTooMany],
    )
  })
})

describe("a body that is not JSON", () => {
  it("malformed JSON and a wrong Content-Type have their own codes and an empty path", () => {
    const message = "The body is not valid JSON"
    assert.deepStrictEqual(invalidJson(message), { code: "invalid_json", message, path: [] })
    const { code, path } = invalidContentType
    assert.deepStrictEqual([code, path], ["invalid_content_type", []])
  })
})

/** The contract's rule for an element, written without the schema. */
const isValidUrl = (value: unknown) =>
  Predicate.isString(value) && 1 <= value.length && value.length <= 1000

describe("any request body", () => {
  const element = fc.oneof(
    { weight: 3, arbitrary: fc.constant(url) },
    { weight: 1, arbitrary: fc.constantFrom("", "a".repeat(1000), "a".repeat(1001)) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
  )
  const nearlyValid = fc.oneof(
    fc.record({ urls: fc.array(element, { maxLength: 60, size: "max" }) }),
    fc.record(
      { urls: fc.oneof(fc.array(element), fc.jsonValue()), more: fc.jsonValue() },
      { requiredKeys: [] },
    ),
  )

  it.prop(
    "any JSON body is either decoded or rejected with a list of issues, and each issue fits the API's schema of an issue",
    { body: fc.oneof(nearlyValid, fc.jsonValue()) },
    ({ body }) => {
      const decoded = decode(body)
      if (Either.isRight(decoded)) {
        assert.isTrue(decoded.right.urls.every(isValidUrl))
        return
      }
      const issues = decoded.left
      assert.isNotEmpty(issues)
      for (const issue of issues) {
        assert.deepStrictEqual(Schema.encodeSync(Issue)(issue), issue)
        assert.notStrictEqual(issue.message, "")
        assert.isTrue(issue.path.every(Predicate.isString))
      }
    },
    { fastCheck: { numRuns: runs(250) } },
  )

  it.prop(
    "a request has one issue for each invalid URL, and one for a wrong number of URLs",
    { urls: fc.array(element, { maxLength: 60, size: "max" }) },
    ({ urls }) => {
      const paths = issuesOf({ urls }).map(({ path }) => path.join("."))
      const bad = [...urls.entries()].filter(([, value]) => !isValidUrl(value))
      const size = 1 <= urls.length && urls.length <= 50 ? [] : ["urls"]
      assert.sameMembers(paths, [...bad.map(([index]) => `urls.${index}`), ...size])
    },
    { fastCheck: { numRuns: runs(125) } },
  )

  it.prop(
    "for a list of up to 100 items, the issues are the same as from the schema's own decoder",
    { urls: fc.array(element, { maxLength: 100, size: "max" }) },
    ({ urls }) => {
      const whole = decodeWhole({ urls })
      assert.deepStrictEqual(
        issuesOf({ urls }),
        Either.isLeft(whole) ? fromParseIssue(whole.left) : [],
      )
    },
    { fastCheck: { numRuns: runs(125) } },
  )
})

describe("a long list", () => {
  it.each<[name: string, item: unknown, count: number]>([
    ["numbers", 1, 101],
    ["empty strings", "", 101],
    ["valid strings", "a", 1],
  ])(
    "only the first 100 items and the length of a long list of %s are validated",
    (_, item, count) => {
      const issues = issuesOf({ urls: Array(9_999).fill(item) })
      assert.lengthOf(issues, count)
      assert.deepInclude(issues, urlsTooMany)
      assert.isBelow(JSON.stringify(issues).length, 64 * 1024)
    },
  )

  it("a list of more than 10,000 items is reported only as too big", () => {
    const decoded = decoder(BatchRequest)({ urls: Array(10_001).fill("a") })
    assert.deepStrictEqual(decoded, Either.left([urlsTooMany]))
  })
})
