import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { BatchHeaders } from "../../src/contract/Api.ts"
import * as Issues from "../../src/contract/Issues.ts"

const decode = Issues.headersDecoder(BatchHeaders)
const valueOf = (name: keyof typeof BatchHeaders.Type, text: string) =>
  Either.getOrThrow(decode({ [name]: text }))[name]

describe("the header Prefer", () => {
  it.each<[text: string, isPreferred: boolean]>([
    ["provenance", true],
    ["respond-async, Provenance", true],
    ['provenance=""', true],
    ['provenance = "" ; foo', true],
    ["provenance; foo=bar", true],
    ["", false],
    ["provenances", false],
    ["provenance=no", false],
    ['foo="a, provenance"', false],
    ['foo="a\\", provenance"', false],
    ['foo="a", provenance', true],
    ['foo="a, provenance', false],
  ])("%s", (text, isPreferred) => {
    assert.strictEqual(valueOf("prefer", text), isPreferred)
  })
})

describe("the header Cache-Control", () => {
  it.each<[text: string, maxAgeMs: number | undefined]>([
    ["max-age=1", 1000],
    ['private, MAX-AGE="60"', 60_000],
    ["max-age=-1", undefined],
    ["max-age=1.5", undefined],
    ["max-age", undefined],
    ["no-cache, no-store", undefined],
    ['ext="a, max-age=1"', undefined],
    ['ext="a, b", max-age=1', 1000],
  ])("%s", (text, maxAgeMs) => {
    assert.strictEqual(valueOf("cache-control", text), maxAgeMs)
  })

  it("a long header with many unclosed quotes is parsed quickly", () => {
    assert.isUndefined(valueOf("cache-control", `${'"\\'.repeat(8_000)}\\`))
  })
})

describe("the header Idempotency-Key", () => {
  it.each<[text: string, key: string]>([
    ["a-1", "a-1"],
    ['"a-1"', "a-1"],
    ['"A-1"', "A-1"],
    ['"a\\"1"', 'a"1'],
    [`"${"k".repeat(255)}"`, "k".repeat(255)],
  ])("%s", (text, key) => {
    assert.strictEqual(valueOf("idempotency-key", text), key)
  })
})

const wrongKeys = ["", '""', "k".repeat(256), '"open', 'quo"te', "two words", '"a\\b"', "é"]
const wrongLimits = ["", "-1", "1.5", "1e3", "0x10", "ten", "9007199254740993", "1, 1"]

it.each([
  ...wrongKeys.map((text) => ["idempotency-key", text, "invalid_idempotency_key"] as const),
  ...wrongLimits.map((text) => ["x-max-credits", text, "invalid_header"] as const),
])("the header %s with the value %j has an issue with the path of its name", (name, text, code) => {
  const issues = Either.getOrThrow(Either.flip(decode({ [name]: text })))
  assert.deepStrictEqual(
    issues.map(({ code, path }) => [code, path]),
    [[code, [name]]],
  )
})

it("the headers of a request are decoded, and encoded again by a client", () => {
  const text = {
    "idempotency-key": '"a \\"b\\" c"',
    "x-max-credits": "20",
    "cache-control": "max-age=60",
    prefer: "provenance",
  }
  const decoded = Either.getOrThrow(decode(text))
  assert.deepStrictEqual<unknown>(decoded, {
    "idempotency-key": 'a "b" c',
    "x-max-credits": 20,
    "cache-control": 60_000,
    prefer: true,
  })
  assert.deepStrictEqual(Schema.encodeSync(BatchHeaders)(decoded), text)
})
