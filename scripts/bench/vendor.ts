/** A Moz API that knows every page, as far as the service asks it. Prints its address. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import * as Schema from "effect/Schema"
import { figures } from "./load.ts"

const Question = Schema.Struct({
  id: Schema.String,
  params: Schema.Struct({
    data: Schema.Struct({
      site_queries: Schema.Array(Schema.Struct({ query: Schema.String, scope: Schema.String })),
    }),
  }),
})
const decode = Schema.decodeUnknownSync(Question)

const server = createServer(async (request, response) => {
  const { id, params } = decode(await json(request))
  const results_by_site = params.data.site_queries.map((original_site_query) => ({
    site_query: { ...original_site_query, original_site_query },
    site_metrics: {
      domain_authority: figures.domainAuthority,
      page_authority: figures.pageAuthority,
      spam_score: figures.spamScore,
    },
  }))
  response.setHeader("content-type", "application/json")
  response.end(
    JSON.stringify({ id, jsonrpc: "2.0", result: { results_by_site, errors_by_site: [] } }),
  )
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
