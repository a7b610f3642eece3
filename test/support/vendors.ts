/** Fake vendors on real ports, with the settings that make the program use them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FakeDataForSeo from "./FakeDataForSeo.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeMozLinksV2 from "./FakeMozLinksV2.ts"
import * as FakeOpenPageRank from "./FakeOpenPageRank.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"

export const moz = Effect.map(FakeMoz.make, (vendor) => ({
  vendor,
  settings: FakeMoz.settings(vendor.url),
}))

export const links = Effect.map(FakeMozLinksV2.make, (vendor) => ({
  vendor,
  settings: {
    AUTHORITY_PROVIDER: "moz-links-v2",
    AUTHORITY_MOZ_LINKS_V2_URL: `${vendor.address}/v2`,
    AUTHORITY_MOZ_LINKS_V2_TOKEN: FakeMozLinksV2.token,
  },
}))

export const dataforseo = Effect.map(FakeDataForSeo.make, (vendor) => ({
  vendor,
  settings: {
    AUTHORITY_PROVIDER: "dataforseo",
    AUTHORITY_DATAFORSEO_URL: `${vendor.address}/v3`,
    AUTHORITY_DATAFORSEO_LOGIN: FakeDataForSeo.login,
    AUTHORITY_DATAFORSEO_PASSWORD: FakeDataForSeo.password,
  },
}))

export const openPageRank = Effect.map(FakeOpenPageRank.make, (vendor) => ({
  vendor,
  settings: {
    AUTHORITY_PROVIDER: "open-page-rank",
    AUTHORITY_OPEN_PAGE_RANK_URL: vendor.url,
    AUTHORITY_OPEN_PAGE_RANK_KEY: FakeOpenPageRank.key,
  },
}))

export const httpToken = "an-http-token-for-tests"

const Question = Schema.Struct({ targets: Schema.Array(Schema.Struct({ url: Schema.String })) })

export const http = Effect.map(
  FakeVendor.make(({ json }) => {
    const { targets } = Schema.decodeUnknownSync(Question)(json)
    const figures = { domainAuthority: 91, pageAuthority: 74.5 }
    const results = targets.map(({ url }) => ({ url, ...figures }))
    return { status: 200, body: JSON.stringify({ results }) }
  }),
  (vendor) => ({
    vendor,
    settings: {
      AUTHORITY_PROVIDER: "http",
      AUTHORITY_HTTP_URL: vendor.address,
      AUTHORITY_HTTP_TOKEN: httpToken,
    },
  }),
)

/** A fault: renames a field of every answer, even inside lists. */
export const renamed = (field: string) =>
  FakeVendor.rewrite(`${field} renamed`, (json) =>
    JSON.parse(JSON.stringify(json).replaceAll(`"${field}":`, '"renamed":')),
  )
