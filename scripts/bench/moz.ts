/** What the servers beside the service send to the fake vendor, and what they read from its answer. */
import { randomUUID } from "node:crypto"
import { getDomain } from "tldts"

/** Returns the host, path and query of `url`; undefined when `url` is not a public web address. */
export const pageOf = (url: string) => {
  const address = url.includes("://") ? url : `https://${url}`
  if (!URL.canParse(address)) return undefined
  const { hostname, pathname, protocol, search } = new URL(address)
  if (protocol !== "https:" && protocol !== "http:") return undefined
  return getDomain(hostname) === null ? undefined : hostname + pathname + search
}

/** The body of one call for all pages. */
export const questionOf = (pages: ReadonlyArray<string>) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: randomUUID(),
    method: "data.site.metrics.fetch.multiple",
    params: {
      data: {
        site_queries: [...new Set(pages)].map((page) => ({
          query: `https://${page}`,
          scope: "url",
        })),
      },
    },
  })

export interface Reply {
  readonly result: {
    readonly results_by_site: ReadonlyArray<{
      readonly site_query: { readonly original_site_query: { readonly query: string } }
      readonly site_metrics: {
        readonly domain_authority: number
        readonly page_authority: number
        readonly spam_score: number
      }
    }>
  }
}

/** The figures of an answer, by page. */
export const figuresIn = ({ result }: Reply) =>
  new Map(
    result.results_by_site.map(({ site_metrics, site_query }) => [
      site_query.original_site_query.query.slice("https://".length),
      {
        domainAuthority: site_metrics.domain_authority,
        pageAuthority: site_metrics.page_authority,
        spamScore: site_metrics.spam_score,
      },
    ]),
  )
