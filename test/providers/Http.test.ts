/** Tests the provider `http`: the operator's own provider behind a JSON protocol. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"
import { Outcome, providerFailed } from "../../src/check/Metrics.ts"
import * as Http from "../../src/providers/vendors/Http.ts"
import { ask, status } from "../support/askVendor.ts"
import { tags } from "../support/lookup.ts"

const token = "an-http-token-for-tests"

const make = Effect.gen(function* () {
  const vendor = yield* FakeVendor.make(({ json }) => ({
    status: 200,
    body: JSON.stringify({ results: decodeQuestion(json).targets.toReversed().map(resultFor) }),
  }))
  const url = `${vendor.address}/figures`
  return Object.assign(vendor, { layer: Http.layer({ url, token: Redacted.make(token) }) })
})

const decodeQuestion = Schema.decodeUnknownSync(
  Schema.Struct({ targets: Schema.Array(Schema.Struct({ url: Schema.String })) }),
)

const figures = (url: string) => ({
  domainAuthority: figure(url, "domain") / 2,
  pageAuthority: figure(url, "page"),
  spamScore: figure(url, "spam"),
})

const resultFor = ({ url }: { readonly url: string }) => ({ url, ...figures(url), note: "ignored" })

const checked = (url: string) => Outcome.Checked({ metrics: figures(url) })

/** Changes the results of one call. */
const results = (change: (items: ReadonlyArray<object>) => ReadonlyArray<unknown>) =>
  FakeVendor.rewrite("results", (json) => ({
    results: change(Schema.decodeUnknownSync(Results)(json).results),
  }))

const Results = Schema.Struct({
  results: Schema.Array(
    Schema.Struct(
      { url: Schema.String },
      Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    ),
  ),
})

const Examples = Schema.Struct({ examples: Schema.Array(Schema.Unknown) })
const decodeDocument = Schema.decodeSync(
  Schema.parseJson(
    Schema.Struct({
      components: Schema.Struct({
        schemas: Schema.Struct({ Answer: Examples, Question: Examples }),
      }),
    }),
  ),
)

const a = "https://www.example.co.uk/a?b"
const b = "https://example.org/"

it.scoped(
  "the http provider sends the targets and the token, and matches the results to the targets by URL, whatever the order of the results",
  () =>
    Effect.gen(function* () {
      const vendor = yield* make
      assert.deepStrictEqual(yield* ask(vendor, a, b), [checked(a), checked(b)])
      assert.containSubset(vendor.calls, [
        { method: "POST", url: "/figures", headers: { authorization: `Bearer ${token}` } },
      ])
      assert.deepStrictEqual(vendor.calls[0]?.json, {
        targets: [
          { url: a, host: "www.example.co.uk", domain: "example.co.uk" },
          { url: b, host: "example.org", domain: "example.org" },
        ],
      })
    }),
)

describe("an unusable result from the http provider", () => {
  const cases: Record<string, (item: object) => ReadonlyArray<unknown>> = {
    "the result is missing": () => [],
    "the result has an error": () => [{ url: a, error: "no\nfigures" }],
    "a figure is above 100": (item) => [{ ...item, domainAuthority: 100.5 }],
    "a figure is below 0": (item) => [{ ...item, pageAuthority: -1 }],
    "a figure is a text": (item) => [{ ...item, pageAuthority: "12" }],
    "a figure is null": (item) => [{ ...item, domainAuthority: null }],
    "the spam score is above 100": (item) => [{ ...item, spamScore: 101 }],
    "the URL is of another target": (item) => [{ ...item, url: "https://example.net/" }],
    "the result has no URL": (item) => [{ ...item, url: 7 }],
    "the result is null": () => [null],
  }
  for (const [name, change] of Object.entries(cases)) {
    it.scoped(`a result of the http provider fails only its own target when ${name}`, () =>
      Effect.gen(function* () {
        const vendor = yield* make
        vendor.script(
          results((items) => items.flatMap((item, i) => (i === 1 ? change(item) : item))),
        )
        assert.deepStrictEqual(tags(yield* ask(vendor, a, b)), ["PROVIDER_ERROR", "ok"])
      }),
    )
  }
})

it.scoped("the figures of the http provider have the index that its answer names", () =>
  Effect.gen(function* () {
    const vendor = yield* make
    const named = (index: unknown) =>
      FakeVendor.rewrite("index", (json) => ({ ...Object(json), index }))
    vendor.script(named("2026-11"), named(null))
    const metrics = figures(a)
    assert.deepStrictEqual(yield* ask(vendor, a), [Outcome.Checked({ metrics, index: "2026-11" })])
    assert.deepStrictEqual(yield* ask(vendor, a), [checked(a)])
  }),
)

it.scoped("a byte order mark before the answer of the http provider is ignored", () =>
  Effect.gen(function* () {
    const vendor = yield* make
    vendor.script({
      name: "byte order mark",
      apply: (response, { body }) => void response.end(`\ufeff${body}`),
    })
    assert.deepStrictEqual(yield* ask(vendor, a), [checked(a)])
  }),
)

for (const change of [{ spamScore: null }, { spamScore: undefined }]) {
  it.scoped(`a spam score of ${change.spamScore} from the http provider is left out`, () =>
    Effect.gen(function* () {
      const vendor = yield* make
      vendor.script(results((items) => items.map((item) => ({ ...item, ...change }))))
      const { domainAuthority, pageAuthority } = figures(a)
      assert.deepStrictEqual(yield* ask(vendor, a), [
        Outcome.Checked({ metrics: { domainAuthority, pageAuthority } }),
      ])
    }),
  )
}

for (const body of [
  { message: "out of order" },
  { error: "out of order" },
  { error: { code: 7, message: "out of order" } },
  { detail: "out of order" },
]) {
  it.scoped(
    `the error of the http provider quotes the vendor's own words: ${JSON.stringify(body)}`,
    () =>
      Effect.gen(function* () {
        const vendor = yield* make
        vendor.script(FakeVendor.answer(400, JSON.stringify(body)))
        const error = yield* Effect.flip(ask(vendor, a))
        assert.strictEqual(error.detail, "HTTP 400, out of order")
      }),
  )
}

it.scoped("the error of the http provider has the Retry-After of a 429 or a 503", () =>
  Effect.gen(function* () {
    const vendor = yield* make
    vendor.script(FakeVendor.throttled("7"), FakeVendor.answer(503, "", { "retry-after": "8" }))
    const errors = yield* Effect.replicateEffect(Effect.flip(ask(vendor, a)), 2)
    assert.deepStrictEqual(
      errors.map(({ retryAfter }) => retryAfter),
      [Duration.seconds(7), Duration.seconds(8)],
    )
  }),
)

it.scoped(
  "an error of the http provider hides a token that the endpoint sends back, with or without Bearer",
  () =>
    Effect.gen(function* () {
      const vendor = yield* make
      for (const message of [token, `Bearer ${token}`]) {
        vendor.script(FakeVendor.answer(401, JSON.stringify({ message: `bad: ${message}` })))
        const error = yield* Effect.flip(ask(vendor, a))
        assert.notInclude(inspect(error), message)
        assert.include(error.detail, "<redacted>")
      }
      vendor.script(results(() => [{ url: a, error: token }]))
      assert.notInclude(inspect(yield* ask(vendor, a)), token)
    }),
)

it.scoped("the http provider checks its token with a call that contains no targets", () =>
  Effect.gen(function* () {
    const vendor = yield* make
    assert.deepStrictEqual(yield* status(vendor), {})
    assert.deepStrictEqual(vendor.calls[0]?.json, { targets: [] })
    vendor.script(FakeVendor.answer(401, ""))
    const error = yield* Effect.flip(status(vendor))
    assert.strictEqual(error.reason, "Refused")
  }),
)

describe("the published OpenAPI document of the http provider", () => {
  const folder = join(import.meta.dirname, "../../scripts/http-provider")

  it.scoped("the http provider sends and reads what the examples in openapi.json show", () =>
    Effect.gen(function* () {
      const document = readFileSync(join(folder, "openapi.json"), "utf8")
      const { Answer, Question } = decodeDocument(document).components.schemas
      const vendor = yield* FakeVendor.make(() => ({
        status: 200,
        body: JSON.stringify(Answer.examples[0]),
      }))
      const layer = Http.layer({ url: vendor.address, token: Redacted.make(token) })
      yield* ask({ layer }, a)
      assert.deepStrictEqual(vendor.calls[0]?.json, Question.examples[0])
      assert.deepStrictEqual(yield* ask({ layer }, "example.com", "www.example.org/a"), [
        Outcome.Checked({
          metrics: { domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 },
          index: "2026-11-01",
        }),
        providerFailed("the provider does not know the target", "unknown"),
      ])
    }),
  )

  it.scopedLive(
    "the http provider gets figures and errors from example.mjs, the guide's example of a provider endpoint",
    () =>
      Effect.gen(function* () {
        const child = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(process.execPath, [join(folder, "example.mjs")], {
              env: { TOKEN: token, PORT: "0" },
              stdio: ["ignore", "pipe", "inherit"],
            }),
          ),
          (child) => Effect.sync(() => child.kill()),
        )
        const [line] = yield* Effect.promise(() => once(createInterface(child.stdout), "line"))
        const url = Schema.decodeUnknownSync(Schema.String)(line)
        const layer = Http.layer({ url, token: Redacted.make(token) })
        assert.deepStrictEqual(
          yield* ask({ layer }, "example.com", "example.net", "example.org", "wikipedia.org"),
          [
            Outcome.Checked({
              metrics: { domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 },
            }),
            providerFailed("the provider does not know the target", "unknown"),
            Outcome.Checked({ metrics: { domainAuthority: 62, pageAuthority: 40 } }),
            // The command `authority provider status --live` asks for wikipedia.org.
            Outcome.Checked({ metrics: { domainAuthority: 97, pageAuthority: 88 } }),
          ],
        )
        const stranger = Http.layer({ url, token: Redacted.make("another-token") })
        const error = yield* Effect.flip(ask({ layer: stranger }, "example.com"))
        assert.containSubset(error, { reason: "Refused", detail: "HTTP 401, the token is wrong" })
      }),
  )
})
