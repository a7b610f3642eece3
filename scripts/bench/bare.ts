/**
 * A bare `node:http` server, which shows the limit of a server in one process of Node: it parses
 * the body of each request and answers with JSON of the service's shape, and does nothing else.
 * Prints its address.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const figures = { domainAuthority: 50, pageAuthority: 42, spamScore: 3 }

const batch = (body: string) => {
  const { urls }: { readonly urls: ReadonlyArray<string> } = JSON.parse(body)
  const successUrls = urls.map((url) => ({ url, ...figures }))
  const creditsUsed = urls.length
  return { success: true, data: { successUrls, failedUrls: [] }, quota: { creditsUsed } }
}

const balance = { success: true, data: { availableCredits: 1_000_000_000_000 } }

const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const answer = request.method === "GET" ? balance : batch(Buffer.concat(chunks).toString())
    const body = JSON.stringify(answer)
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, keys: ["any-key"] }))
})
