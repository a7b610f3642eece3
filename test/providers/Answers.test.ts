/**
 * Tests that each adapter reads a recorded answer of its vendor, captured or from the vendor's
 * documentation, and notices when a field of it is missing or new. The files in `answers/` name the
 * source and the date of each answer.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as DataForSeo from "../../src/providers/vendors/DataForSeo.ts"
import * as Http from "../../src/providers/vendors/Http.ts"
import * as Moz from "../../src/providers/vendors/Moz.ts"
import * as MozLinksV2 from "../../src/providers/vendors/MozLinksV2.ts"
import * as OpenPageRank from "../../src/providers/vendors/OpenPageRank.ts"
import { Vendor } from "../../src/providers/Vendor.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { context } from "../support/askVendor.ts"
import { targets } from "../support/lookup.ts"

const secret = Redacted.make("opr_live_for_tests")

const adapters: Readonly<Record<string, (address: string) => Layer.Layer<Vendor>>> = {
  moz: (address) => Moz.layer({ url: `${address}/jsonrpc`, token: secret }),
  "moz-links-v2": (address) => MozLinksV2.layer({ url: `${address}/v2`, token: secret }),
  "open-page-rank": (address) =>
    OpenPageRank.layer({ url: `${address}/v1/domains/bulk`, key: secret }),
  dataforseo: (address) =>
    DataForSeo.layer({ url: `${address}/v3`, login: "login", password: secret }),
  http: (address) => Http.layer({ url: `${address}/figures`, token: secret }),
}

const Json = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const Recorded = Schema.Struct({
  source: Schema.NonEmptyString,
  date: Schema.NonEmptyString,
  targets: Schema.Array(Schema.String),
  calls: Schema.Array(Schema.Struct({ path: Schema.String, body: Schema.Unknown, answer: Json })),
  outcomes: Schema.Array(Schema.Unknown),
})

const read = (name: string) =>
  Schema.decodeUnknownSync(Schema.parseJson(Recorded))(
    readFileSync(join(import.meta.dirname, `answers/${name}.json`), "utf8"),
  )

/** The id of a JSON-RPC call, which is new for each call. */
const idOf = (json: unknown) => (Schema.is(Json)(json) && "id" in json ? { id: json["id"] } : {})

/** Starts the vendor. Its answers are the recorded ones, changed by `change`. */
const setUp = (name: string, change: (text: string) => string = (text) => text) =>
  Effect.gen(function* () {
    const recorded = read(name)
    const vendor = yield* FakeVendor.make(
      ({ json, url }) => {
        const answer = recorded.calls.find(({ path }) => path === url)?.answer ?? {}
        return { status: 200, body: change(JSON.stringify({ ...idOf(json), ...answer })) }
      },
      ({ json }) =>
        JSON.stringify(json).includes("metadata.index.fetch") ? FakeVendor.unavailable : undefined,
    )
    const layer = adapters[name]?.(vendor.address) ?? assert.fail(name)
    const { call } = yield* Effect.provide(Vendor, layer)
    const lookup = Effect.map(
      call(targets(...recorded.targets), context),
      ({ outcomes }) => outcomes,
    )
    const lines = new Array<string>()
    const toLines = Logger.map(Logger.jsonLogger, (line) => void lines.push(line))
    const asking = Effect.provide(
      Effect.option(lookup),
      Logger.replace(Logger.defaultLogger, toLines),
    )
    return { recorded, vendor, lines, lookup, asking }
  })

describe.each(Object.keys(adapters))("the recorded answer of %s", (name) => {
  it.scoped(
    "a recorded vendor answer is requested as documented and read, and no change is reported",
    () =>
      Effect.gen(function* () {
        const { asking, lines, lookup, recorded, vendor } = yield* setUp(name)
        assert.deepStrictEqual(
          (yield* lookup).map((outcome) => ({ ...outcome })),
          recorded.outcomes,
        )
        for (const { body, path } of recorded.calls) {
          const call = vendor.calls.find(({ url }) => url === path)
          const asked = Array.isArray(body) ? body : { ...idOf(call?.json), ...Object(body) }
          assert.deepStrictEqual(call?.json, asked)
        }
        yield* asking
        assert.deepStrictEqual(lines, [])
      }),
  )
})

const cases = [
  ["moz", '"page_authority"', "the field page_authority is missing"],
  ["moz", '"results_by_site"', "the field result.results_by_site is missing"],
  ["moz-links-v2", '"domain_authority"', "the field domain_authority is missing"],
  ["moz-links-v2", '"results"', "the field results is missing"],
  ["open-page-rank", '"found"', "the field found is missing"],
  ["open-page-rank", '"open_page_rank"', "the field open_page_rank is missing"],
  ["open-page-rank", '"as_of"', "the field renamed is new, the field as_of is missing"],
  ["dataforseo", '"rank"', "the field rank is missing"],
  ["dataforseo", '"spam_score"', "the field spam_score is missing"],
  ["dataforseo", '"version"', "the field renamed is new, the field version is missing"],
  ["http", '"pageAuthority"', "the field pageAuthority is missing"],
] as const

/** Returns how many missing and new fields of this provider were counted. */
const noticed = (provider: string) =>
  Metric.unsafeSnapshot()
    .filter(
      ({ metricKey: { name, tags } }) =>
        name === "authority_provider_changed_fields" &&
        tags.some(({ value }) => value === provider),
    )
    .reduce(
      (sum, { metricState }) =>
        MetricState.isCounterState(metricState) ? sum + Number(metricState.count) : sum,
      0,
    )

describe("a vendor that changes its format", () => {
  it.scoped.each(cases)("%s with %s renamed: %s, logged once a day", ([name, field, words]) =>
    Effect.gen(function* () {
      const { asking, lines } = yield* setUp(name, (text) => text.replaceAll(field, '"renamed"'))
      const before = noticed(name)
      yield* asking
      assert.isAbove(noticed(name), before)
      yield* asking
      assert.lengthOf(lines, 1)
      assert.include(lines[0], JSON.stringify(`${name}: ${words}`))
      yield* TestClock.adjust("1 day")
      yield* asking
      assert.lengthOf(lines, 2)
    }),
  )

  it.scoped(
    "the name of a vendor's new field cannot bring a secret or a line end into the log",
    () =>
      Effect.gen(function* () {
        const { asking, lines } = yield* setUp("moz-links-v2", (text) =>
          text.replace("{", `{"a\\n${Redacted.value(secret)}":1,`),
        )
        yield* asking
        assert.match(lines[0] ?? "", /moz-links-v2: the field a [^\\]+ is new/)
        assert.notInclude(lines[0], Redacted.value(secret))
      }),
  )
})
