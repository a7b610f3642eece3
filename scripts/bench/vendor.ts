/**
 * A fake Moz API that has figures for every page. Prints its address. The answer to a GET request
 * says how many pages were requested since the start, and in how many calls.
 *
 *     node vendor.ts [MS]    takes MS per call
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { figuresOf } from "./requests.ts"

interface Question {
  readonly id: string
  readonly params: {
    readonly data: {
      /** Absent when the service asks for its quota, as it does once a day. */
      readonly site_queries?: ReadonlyArray<{ readonly query: string; readonly scope: string }>
    }
  }
}

const ms = Number(process.argv[2] ?? 0)
const hosts = new Set<string>()
let [asked, calls] = [0, 0]

const server = createServer(async (request, response) => {
  response.setHeader("content-type", "application/json")
  if (request.method === "GET") {
    return response.end(JSON.stringify({ asked, calls, hosts: hosts.size }))
  }
  const { id, params }: Question = JSON.parse(await text(request))
  const queries = params.data.site_queries
  if (queries === undefined) {
    return response.writeHead(404).end(JSON.stringify({ message: "not found" }))
  }
  calls += 1
  if (ms > 0) await sleep(ms)
  asked += queries.length
  if (ms > 0) for (const { query } of queries) hosts.add(query)
  const results_by_site = queries.map((original_site_query) => {
    const figures = figuresOf(original_site_query.query)
    return {
      site_query: { ...original_site_query, original_site_query },
      site_metrics: {
        domain_authority: figures.domainAuthority,
        page_authority: figures.pageAuthority,
        spam_score: figures.spamScore,
      },
    }
  })
  return response.end(
    JSON.stringify({ id, jsonrpc: "2.0", result: { results_by_site, errors_by_site: [] } }),
  )
})
// Keep idle connections longer than any pause in a run. A request would fail if it were sent while
// the server closes the connection.
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
