/** A fake of the Moz Links API v2, written from its public reference and a captured answer. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as MozLinksV2 from "../../src/providers/vendors/MozLinksV2.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figures } from "../../scripts/support/FakeMoz.ts"

export { figures }

export const token = "a-links-token-for-tests"

/** The name of the fake's current index. */
const index = "p/z6qTYXg9J/Zp0W7Ei1FA=="

/** A target for which the fake refuses the whole call. */
export const refused = "refused.example.com/"

export const make = Effect.gen(function* () {
  let rows = 0
  const vendor = yield* FakeVendor.make(({ json, url }) => {
    if (url === "/v2/index_metadata") {
      return { status: 200, body: JSON.stringify({ index_id: index }) }
    }
    const { targets } = Schema.decodeUnknownSync(Request)(json)
    if (targets.includes(refused)) return { status: 400, body: `{"message":"a bad target"}` }
    rows += targets.length
    return { status: 200, body: JSON.stringify({ results: targets.map(resultFor) }) }
  })
  const layerWith = (secret: string) =>
    MozLinksV2.layer({ url: `${vendor.address}/v2`, token: Redacted.make(secret) })
  return Object.assign(vendor, {
    rows: () => rows,
    asked: () => vendor.calls.map(({ json }) => Schema.decodeUnknownSync(Request)(json).targets),
    layerWith,
    layer: layerWith(token),
  })
})

/** A fault: changes the list of results. */
export const results = (change: (items: ReadonlyArray<object>) => ReadonlyArray<unknown>) =>
  FakeVendor.rewrite("results", (json) => ({
    results: change(Schema.decodeUnknownSync(Answer)(json).results),
  }))

const resultFor = (target: string) => {
  const { domainAuthority, pageAuthority, spamScore } = figures(target)
  return {
    // Moz names its canonical page, which may be another page of the same domain.
    page: `${target.split("/")[0]}/canonical`,
    title: "A title",
    last_crawled: "2023-04-01",
    http_code: 200,
    page_authority: pageAuthority,
    domain_authority: domainAuthority,
    spam_score: spamScore,
  }
}

const Request = Schema.Struct({
  targets: Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(50)),
})

const Answer = Schema.Struct({ results: Schema.Array(Schema.Object) })
