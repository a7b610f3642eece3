/** A fake of the Moz API, written from its public reference and captured answers. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Moz from "../../src/providers/vendors/Moz.ts"
import { Target } from "../../src/check/Target.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { figure } from "./fakeFigure.ts"

export const token = "a-moz-token-for-tests"

/** The number of rows in the fake's subscription. */
const allotted = 3000

/** The name of the fake's index at the start. */
export const index = "tD4grH2TmrmTfXW65xr+tg=="

/** Settings that make the program use the fake at this address. */
export const settings = (url: string) => ({
  AUTHORITY_PROVIDER: "moz",
  AUTHORITY_MOZ_TOKEN: token,
  AUTHORITY_MOZ_URL: url,
})

/** The fake's figures of a page. They are the same every time. */
export const figures = (page: string) => ({
  domainAuthority: figure(page, "domain"),
  pageAuthority: figure(page, "page"),
  spamScore: figure(page, "spam"),
})

export const make = Effect.gen(function* () {
  let rows = 0
  const indices = { now: index, calls: 0, fault: FakeVendor.none }
  const answer = ({ headers, json }: FakeVendor.Call) => {
    const { id, method, params } = decodeRequest(json)
    if (headers["x-moz-token"] !== token) {
      return said(id, 401, { error: rpcError(-32651, 401, "auth-failed") })
    }
    if (method === "quota.lookup") {
      const { path } = params.data
      const quota = { path, allotted, used: rows, overage: false, period_reset: 1788246000 }
      return said(id, 200, { result: { quota } })
    }
    if (method === "metadata.index.fetch")
      return said(id, 200, { result: { index_id: indices.now } })
    const queries = params.data.site_queries ?? []
    rows += queries.length
    // Moz does not guarantee that results have the order of the request, so reverse the order.
    const results_by_site = queries.toReversed().map(resultFor)
    return said(id, 200, { result: { results_by_site, errors_by_site: [] } })
  }
  const vendor = yield* FakeVendor.make(answer, ({ json }) => {
    if (decodeRequest(json).method !== "metadata.index.fetch") return undefined
    indices.calls += 1
    return indices.fault
  })

  return Object.assign(vendor, {
    url: `${vendor.address}/jsonrpc`,
    /**
     * The index: its current name, how often it was requested, and the fault that those calls get.
     */
    indices,
    /** Returns the number of used rows of the subscription. */
    rows: () => rows,
    /** Returns the requested pages of each call. */
    asked: () =>
      vendor.calls.flatMap(({ json }) => {
        const { site_queries } = decodeRequest(json).params.data
        return site_queries === undefined ? [] : [site_queries.map(pageOf)]
      }),
    /** The service's Moz provider, connected to this fake. */
    layer: Moz.layer({ url: `${vendor.address}/jsonrpc`, token: Redacted.make(token) }),
  })
})

/** A fault: a result only for the pages for which `isKept` returns true. */
export const partial = (isKept: (page: string) => boolean) =>
  changeResult("partial", ({ errors_by_site, results_by_site }) => ({
    results_by_site: results_by_site.filter((item) => isKept(pageOf(echoOf(item)))),
    errors_by_site,
  }))

/** A fault: an error for each page for which `isRefused` returns true. */
export const siteError = (isRefused: (page: string) => boolean) =>
  changeResult("site error", ({ results_by_site }) => ({
    results_by_site: results_by_site.filter((item) => !isRefused(pageOf(echoOf(item)))),
    errors_by_site: results_by_site
      .filter((item) => isRefused(pageOf(echoOf(item))))
      .map(({ site_query }) => ({ site_query, error: rpcError(-32655, 404, "not-found") })),
  }))

/** A fault: no rows are left. */
export const exhausted = FakeVendor.rewrite("exhausted", (json) =>
  JSON.parse(JSON.stringify(json).replace(/"used":\d+/, `"used":${allotted}`)),
)

/** A fault: replaces figures of pages. An undefined figure is left out. */
export const metrics = (change: (page: string) => Record<string, unknown>) =>
  changeResult("metrics", (result) => ({
    ...result,
    results_by_site: result.results_by_site.map((item) => ({
      ...item,
      site_metrics: { ...item.site_metrics, ...change(pageOf(echoOf(item))) },
    })),
  }))

/** A fault: changes the list of results. */
export const results = (change: (items: ReadonlyArray<unknown>) => ReadonlyArray<unknown>) =>
  changeResult("results", ({ errors_by_site, results_by_site }) => ({
    results_by_site: change(results_by_site),
    errors_by_site,
  }))

/** A fault: a JSON-RPC error with the given HTTP status. */
export const rpcFailure = (httpStatus: number, error: object) => ({
  ...FakeVendor.answer(
    httpStatus,
    JSON.stringify({ id: "does-not-matter", jsonrpc: "2.0", error }),
  ),
  name: `JSON-RPC error with HTTP ${httpStatus}`,
})

export const rpcError = (code: number, status: number, issue: string) => ({
  code,
  status,
  message: "It did not work.",
  data: { issue, explanation: "Because." },
})

const said = (id: string, status: number, body: object) => ({
  status,
  body: JSON.stringify({ id, jsonrpc: "2.0", ...body }),
})

const resultFor = ({ query, scope }: Query) => {
  const page = pageOf({ query })
  const { domainAuthority, pageAuthority, spamScore } = figures(page)
  return {
    site_query: {
      query: page,
      scope,
      original_site_query: { query, scope },
      site_query_suggestion: null,
    },
    site_metrics: {
      page,
      title: "A title",
      last_crawled: "2026-04-01",
      http_code: 200,
      page_authority: pageAuthority,
      domain_authority: domainAuthority,
      spam_score: spamScore,
      link_propensity: 0.0088,
    },
  }
}

type Item = ReturnType<typeof resultFor>
interface Result {
  readonly results_by_site: ReadonlyArray<Item>
  readonly errors_by_site: ReadonlyArray<unknown>
}

const changeResult = (name: string, change: (result: Result) => object) =>
  FakeVendor.rewrite(name, (json) => {
    const { id, jsonrpc, result } = json as { id: string; jsonrpc: string; result: Result }
    return { id, jsonrpc, result: change(result) }
  })

const echoOf = ({ site_query }: Item) => site_query.original_site_query

const pageOf = ({ query }: { readonly query: string }) => {
  const target = Target.parse(query)
  return target._tag === "Right" ? target.right.page : query
}

const Query = Schema.Struct({ query: Schema.String, scope: Schema.Literal("url") })
type Query = typeof Query.Type

const Request = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.String.pipe(Schema.minLength(24)),
  method: Schema.Literal(
    "data.site.metrics.fetch.multiple",
    "quota.lookup",
    "metadata.index.fetch",
  ),
  params: Schema.Struct({
    data: Schema.Struct({
      site_queries: Schema.optional(Schema.Array(Query)),
      path: Schema.optional(Schema.String),
    }),
  }),
})

const decodeRequest = Schema.decodeUnknownSync(Request)
