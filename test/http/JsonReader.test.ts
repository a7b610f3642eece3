import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { BatchRequest } from "../../src/contract/Api.ts"
import * as JsonReader from "../../src/http/JsonReader.ts"
import { runs } from "../support/properties.ts"

const read = JsonReader.make(BatchRequest, 3)

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** JSON documents near the schema, with all kinds of spaces and escapes. */
const { document } = fc.letrec<{ value: string; document: string }>((tie) => {
  const space = fc.constantFrom("", "", "", " ", "\n", "\t\r ")
  const spaced = (text: fc.Arbitrary<string>) =>
    fc.tuple(space, text, space).map((parts) => parts.join(""))
  const string = fc.oneof(
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('"urls"', '"\\u0075rls"', '"\\ud83d"', '"\\n\\"\\\\\\/"', '"😀"'),
  )
  const list = (item: fc.Arbitrary<string>) =>
    fc.array(spaced(item), { maxLength: 6 }).map((items) => `[${items.join()}]`)
  const object = (value: fc.Arbitrary<string>) =>
    fc
      .array(fc.tuple(spaced(string), spaced(value)), { maxLength: 4 })
      .map((fields) => `{${fields.map((field) => field.join(":")).join()}}`)
  const value = fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    string,
    fc.double().map((number) => JSON.stringify(number)),
    fc.constantFrom("0", "-0", "1e5", "-1.50E+2", "0.1e-7", "true", "false", "null"),
    list(tie("value")),
    object(tie("value")),
  )
  return {
    value,
    document: spaced(fc.oneof(value, object(fc.oneof(list(string), list(value), value)))),
  }
})

/** JSON documents with a few characters replaced or inserted. */
const broken = fc
  .tuple(
    document,
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'{}[]",:\\u0.-+eE 1\u0000\ntruefalsn', "")), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.boolean(),
  )
  .map(([text, changes, isDropped]) =>
    changes.reduce((text, [place, character]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + character + text.slice(isDropped ? at + 1 : at)
    }, text),
  )

/** Returns what the reader keeps of a value: the first items of `urls`, nested values emptied. */
const shortened = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return []
  const fields = Object.entries(value)
  return Object.fromEntries(
    fields
      .filter(([name]) => name === "urls")
      .map(([name, urls]) => [
        name,
        Array.isArray(urls) ? urls.slice(0, 3).map(emptied) : emptied(urls),
      ]),
  )
}

const emptied = (value: unknown) =>
  typeof value !== "object" || value === null ? value : Array.isArray(value) ? [] : {}

const isSameAsParsed = (text: string) => {
  const [reading, expected] = [read(text), parsed(text)]
  assert.strictEqual(reading === undefined, expected === undefined, text)
  if (reading !== undefined) {
    assert.deepStrictEqual(reading.value, shortened(expected?.value), text)
  }
}

describe("the JSON reader", () => {
  it.prop(
    "the JSON reader reads every document that JSON.parse reads",
    [document],
    ([text]) => isSameAsParsed(text),
    { fastCheck: { numRuns: runs(500) } },
  )

  it.prop(
    "after random changes to a JSON document, the JSON reader accepts the document exactly when JSON.parse does",
    [broken],
    ([text]) => isSameAsParsed(text),
    { fastCheck: { numRuns: runs(1250) } },
  )

  it.each([
    "",
    " ",
    "01",
    "-",
    "1.",
    ".5",
    "+1",
    "1e",
    "tru",
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    '"',
    "\ufeff1",
  ])("the JSON reader refuses the text %j", (text) => assert.isUndefined(read(text)))

  it("the JSON reader drops the items of a list after the maximum number, and reports whether it has dropped any", () => {
    const cut = (urls: ReadonlyArray<string>) => read(JSON.stringify({ urls }))
    assert.deepStrictEqual(cut(["a", "b", "c"]), {
      value: { urls: ["a", "b", "c"] },
      isWhole: true,
    })
    assert.deepStrictEqual(cut(["a", "b", "c", "d"]), {
      value: { urls: ["a", "b", "c"] },
      isWhole: false,
    })
  })

  it("if the schema allows any field names in an object, the JSON reader keeps all items of that object's lists, even if there are more than the schema's maximum", () => {
    const Bag = Schema.Struct({ bag: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
    const value = { bag: { a: [1, 2, 3, 4], b: { c: null } } }
    assert.deepStrictEqual(JsonReader.make(Bag, 3)(JSON.stringify(value)), { value, isWhole: true })
  })

  it("the JSON reader reads half a million nested brackets without a stack overflow", () => {
    const nested = "[".repeat(262_144) + "]".repeat(262_144)
    assert.deepStrictEqual(read(`{"more":${nested},"urls":${nested}}`), {
      value: { urls: [[]] },
      isWhole: true,
    })
    assert.isUndefined(read("[".repeat(524_288)))
  })
})
