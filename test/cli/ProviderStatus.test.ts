/** `authority provider status`, with fake vendors on real ports. */
import { assert, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FakeDataForSeo from "../support/FakeDataForSeo.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeMozLinksV2 from "../support/FakeMozLinksV2.ts"
import * as FakeOpenPageRank from "../support/FakeOpenPageRank.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import {
  dataforseo,
  http,
  httpToken,
  links,
  moz,
  openPageRank,
  renamed,
} from "../support/vendors.ts"
import { temporaryFolder } from "../support/temporaryFolder.ts"
import { verb } from "../support/Verb.ts"

const status = (settings: Record<string, string>, ...options: ReadonlyArray<string>) =>
  Effect.flatMap(temporaryFolder, (cwd) => verb(cwd, ["provider", "status", ...options], settings))

const Document = Schema.parseJson(Schema.Struct({ providers: Schema.Array(Schema.Unknown) }))

const secrets = [
  FakeMoz.token,
  FakeMozLinksV2.token,
  FakeDataForSeo.password,
  FakeOpenPageRank.key,
  httpToken,
]

const quota =
  "reachable, key accepted; 3000 of 3000 rows are left until 2026-09-01T07:00:00.000Z; index tD4g"

const vendors = [
  {
    name: "moz",
    make: moz,
    well: quota,
    price: "one row",
    exhausted: FakeMoz.exhausted,
    left: /; 0 of 3000 rows are left until 2026.*; buy more quota/,
    throttled: FakeVendor.throttled("7"),
  },
  {
    name: "moz-links-v2",
    make: links,
    well: "reachable, key accepted; index p/z6qTYXg9J",
    price: "one row",
    exhausted: FakeVendor.answer(402, `{"message":"no rows are left"}`),
    left: /its quota is used up: HTTP 402, no rows are left; buy more quota/,
    throttled: FakeVendor.throttled("7"),
  },
  {
    name: "open-page-rank",
    make: openPageRank,
    well: "not asked: open-page-rank has no free call; 'authority provider status --live' asks for",
    price: "one domain of the quota",
    exhausted: FakeVendor.answer(429, `{"message":"no domains are left"}`),
    left: /its quota is used up: HTTP 429, no domains are left; buy more quota/,
    throttled: FakeVendor.throttled("7"),
  },
  {
    name: "dataforseo",
    make: dataforseo,
    well: "reachable, key accepted; 12.34 of 100 USD are left",
    price: "two billed calls",
    exhausted: FakeVendor.rewrite("nothing left", (json) =>
      JSON.parse(JSON.stringify(json).replace("12.34", "0")),
    ),
    left: /; 0 of 100 USD are left; buy more quota/,
    throttled: FakeDataForSeo.failure("call", 40202),
  },
  {
    name: "http",
    make: http,
    well: "reachable, key accepted",
    price: "one target",
    exhausted: FakeVendor.answer(402, `{"message":"the subscription is spent"}`),
    left: /its quota is used up: HTTP 402, the subscription is spent; buy more quota/,
    throttled: FakeVendor.throttled("7"),
  },
] as const

for (const { exhausted, left, make, name, price, throttled, well } of vendors) {
  describe(`authority provider status of ${name}`, () => {
    it.scopedLive("without --live, provider status makes only free calls to a healthy vendor", () =>
      Effect.gen(function* () {
        const { settings, vendor } = yield* make
        const { code, stderr, stdout } = yield* status(settings)
        assert.include(stdout, `${name}: ${well}`)
        assert.notInclude(stdout, "answer as expected")
        assert.deepStrictEqual([code, stderr], [0, ""])
        for (const { url } of vendor.calls) assert.notMatch(url, /url_metrics|backlinks/)
      }),
    )

    it.scopedLive(
      "with --live, provider status makes one call to a healthy vendor, at the price that it prints first",
      () =>
        Effect.gen(function* () {
          const { settings, vendor } = yield* make
          const { code, stderr, stdout } = yield* status(settings, "--live", "--json")
          assert.strictEqual(
            stderr,
            `authority: buying the figures of wikipedia.org from ${name}: ${price}\n`,
          )
          const { providers } = yield* Schema.decode(Document)(stdout)
          assert.containSubset(providers, [
            { provider: name, state: "ok", reason: null, live: { unexpected: null } },
          ])
          assert.strictEqual(code, 0)
          assert.include(JSON.stringify(vendor.calls.at(-1)), "wikipedia.org")
        }),
    )

    for (const [state, fault, words] of [
      ["has nothing left", exhausted, left],
      ["is throttling", throttled, /limits the rate of calls: .+; wait, or lower/],
      ["refuses the key", FakeVendor.none, /key <redacted>; check the token/],
      [
        "has another address now",
        FakeVendor.answer(404, "<h1>gone</h1>"),
        /HTTP 404; .*check the provider's address/,
      ],
      [
        "redirects to another address",
        FakeVendor.answer(301, "", { location: "https://example.com" }),
        /HTTP 301, a redirect; check .+ the address/,
      ],
      ["cannot be reached", FakeVendor.reset, /cannot be reached: ECONNRESET; check/],
    ] as const) {
      it.scopedLive(
        `provider status says that a vendor that ${state} cannot serve, by a free call if there is one`,
        () =>
          Effect.gen(function* () {
            const { settings, vendor } = yield* make
            vendor.always(
              state === "refuses the key"
                ? FakeVendor.answer(403, JSON.stringify({ message: `key ${keyOf(settings)}` }))
                : fault,
            )
            const { code, stderr, stdout } = yield* status(settings, "--live")
            assert.strictEqual(code, 1)
            assert.match(stdout, words)
            assert.match(stdout, new RegExp(`^failure  ${name}: `))
            const buying = name === "open-page-rank" ? /^.*buying.*\n/ : /^/
            assert.strictEqual(
              stderr.replace(buying, ""),
              `authority: these providers cannot serve: ${name}; the output says how to fix them\n`,
            )
            for (const secret of secrets) assert.notInclude(stdout, secret)
          }),
      )
    }
  })
}

it.scopedLive("with --live, provider status names a field that the vendor has renamed", () =>
  Effect.gen(function* () {
    const { settings, vendor } = yield* links
    yield* status(settings)
    // The vendor answers the free calls normally, so that the live call is made.
    vendor.script(...vendor.calls.map(() => FakeVendor.none))
    vendor.always(renamed("page_authority"))
    const { code, stdout } = yield* status(settings, "--live")
    assert.strictEqual(code, 1)
    assert.match(stdout, /the field (\S+\.)?page_authority is missing/)
  }),
)

it.scopedLive("with --live, provider status counts its call if there is a database", () =>
  Effect.gen(function* () {
    const { settings } = yield* moz
    const cwd = yield* temporaryFolder
    yield* verb(cwd, ["account", "create", "acme"], settings)
    const { code } = yield* verb(cwd, ["provider", "status", "--live"], settings)
    assert.strictEqual(code, 0)
    const { stdout } = yield* verb(cwd, ["provider", "report", "--json"], settings)
    const [row] = JSON.parse(stdout).rows
    assert.deepInclude(row, { provider: "moz", calls: 1, rows: 1, failed: 0, unanswered: 0 })
    const bounded = { ...settings, AUTHORITY_MOZ_CEILING: "1/month" }
    const refused = yield* verb(cwd, ["provider", "status", "--live"], bounded)
    assert.match(refused.stdout, /the ceiling AUTHORITY_MOZ_CEILING .* is reached; raise the ceil/)
  }),
)

describe("authority provider status of several providers", () => {
  it.scopedLive(
    "provider status asks each provider of a chain, and exits with 1 if one of them cannot serve",
    () =>
      Effect.gen(function* () {
        const { settings, vendor } = yield* moz
        const chain = { ...settings, AUTHORITY_PROVIDER: "moz,dataforseo,dataset" }
        const { code, stderr, stdout } = yield* status(chain)
        const lines = stdout.trim().split("\n")
        for (const [i, words] of [
          /^ok {7}moz: reachable, key accepted; 3000 /,
          /^failure {2}dataforseo: AUTHORITY_DATAFORSEO_LOGIN is not set/,
          /^failure {2}dataset: there is no database at /,
        ].entries()) {
          assert.match(lines[i] ?? "", words)
        }
        assert.strictEqual(code, 1)
        assert.match(stderr, /these providers cannot serve: dataforseo, dataset; /)
        assert.lengthOf(vendor.calls, 1)
        const sandbox = yield* status({ AUTHORITY_PROVIDER: "sandbox" })
        assert.match(sandbox.stdout, /^warning {2}sandbox: its figures are synthetic/)
      }),
  )

  it.scopedLive(
    "provider status says that the dataset cannot serve before an import, and names its list and date afterwards",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const settings = { AUTHORITY_PROVIDER: "dataset" }
        yield* verb(cwd, ["account", "create", "acme"])
        const before = yield* verb(cwd, ["provider", "status"], settings)
        assert.match(
          before.stdout,
          /failure {2}dataset: .*no list is imported; run 'authority dataset import'\n$/,
        )
        assert.strictEqual(before.code, 1)
        writeFileSync(join(cwd, "list.csv"), "1,example.com\n")
        yield* verb(cwd, ["dataset", "import", "list.csv", "--format", "tranco"])
        const after = yield* verb(cwd, ["provider", "status", "--live"], settings)
        assert.match(
          after.stdout,
          /^ok {7}dataset: a list is imported; index tranco, imported 20\d\d-/,
        )
        assert.deepStrictEqual([after.code, after.stderr], [0, ""])
      }),
  )

  it.scopedLive(
    "provider status waits AUTHORITY_PROVIDER_TIMEOUT for a vendor that never answers",
    () =>
      Effect.gen(function* () {
        const { settings, vendor } = yield* moz
        vendor.always(FakeVendor.hang)
        const timeout = { AUTHORITY_PROVIDER_TIMEOUT: "100ms" }
        const { code, stdout } = yield* status({ ...settings, ...timeout })
        assert.match(stdout, /failure {2}moz: moz did not answer in time/)
        assert.strictEqual(code, 1)
      }),
  )

  it.scopedLive("provider status escapes control characters in the name of an index", () =>
    Effect.gen(function* () {
      const { settings, vendor } = yield* links
      vendor.always(FakeVendor.answer(200, JSON.stringify({ index_id: "\u001b[31m2026" })))
      assert.include((yield* status(settings)).stdout, "index \\u{1b}[31m2026\n")
    }),
  )

  it.scopedLive(
    "provider status says that a plan without remaining rows can serve if it allows overage",
    () =>
      Effect.gen(function* () {
        const { settings, vendor } = yield* moz
        vendor.script(
          FakeVendor.rewrite("overage", (json) =>
            JSON.parse(
              JSON.stringify(json).replace(
                '"used":0,"overage":false',
                '"used":3001,"overage":true',
              ),
            ),
          ),
        )
        const { code, stdout } = yield* status(settings)
        assert.match(stdout, /ok {7}moz: .*; 0 of 3000 rows are left until .*, and more are billed/)
        assert.strictEqual(code, 0)
      }),
  )
})

const keyOf = (settings: object) =>
  Object.entries(settings)
    .filter(([name]) => /TOKEN|PASSWORD|KEY/.test(name))
    .map(([, value]) => String(value))[0]
