/** `authority provider status` as a process of its own, with five fake vendors on real ports. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { folder, run } from "../support/Program.ts"
import { dataforseo, http, links, moz, openPageRank, renamed } from "../support/vendors.ts"

it.scopedLive(
  "a process of its own asks a chain of five vendors, and says of each what is wrong with it",
  () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const vendors = yield* Effect.all([moz, links, openPageRank, dataforseo, http])
      const all = vendors.map(({ settings }) => settings)
      const settings: Record<string, string> = {
        ...Object.assign({}, ...all),
        AUTHORITY_PROVIDER: all.map(({ AUTHORITY_PROVIDER }) => AUTHORITY_PROVIDER).join(","),
      }
      const status = (changed = {}) =>
        run(cwd, ["provider", "status", "--live"], { ...settings, ...changed })

      const well = yield* status()
      assert.strictEqual(well.code, 0, well.stderr)
      assert.lengthOf(well.stdout.match(/^ok .+; answer as expected$/gm) ?? [], 5, well.stdout)

      const [first, second, , fourth, fifth] = vendors
      first.vendor.always(FakeMoz.exhausted)
      second.vendor.always(FakeVendor.throttled("7"))
      fourth.vendor.always(renamed("rank"))
      fifth.vendor.always(FakeVendor.answer(301, "", { location: "https://example.com" }))
      const unwell = yield* status({ AUTHORITY_OPEN_PAGE_RANK_KEY: "a-former-key" })
      assert.strictEqual(unwell.code, 1)
      const lines = unwell.stdout.split("\n")
      for (const [i, words] of [
        /^failure {2}moz: .*; 0 of 3000 rows are left/,
        /^failure {2}moz-links-v2: .* limits the rate of calls: HTTP 429, slow down; wait/,
        /^failure {2}open-page-rank: .* HTTP 403, Open PageRank moved: get a key at https:/,
        /^failure {2}dataforseo: .*; unexpected answer: .* the field rank is missing$/,
        /^failure {2}http: .* HTTP 301, a redirect; check/,
      ].entries()) {
        assert.match(lines[i] ?? "", words)
      }
    }),
  60_000,
)
