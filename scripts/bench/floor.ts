/** As little as a server on node:http can do: it parses the JSON and answers a constant. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { figures, urls } from "./load.ts"

const bodyOf = (count: number) =>
  Buffer.from(
    JSON.stringify({
      success: true,
      data: {
        successUrls: urls.slice(0, count).map((url) => ({ url, ...figures })),
        failedUrls: [],
      },
      quota: { creditsUsed: count },
    }),
  )
const [one, fifty] = [bodyOf(1), bodyOf(50)]
const credits = Buffer.from(JSON.stringify({ success: true, data: { availableCredits: 1e12 } }))

const server = createServer((request, response) => {
  const answer = (body: Buffer) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length })
    response.end(body)
  }
  if (request.method === "GET") return answer(credits)
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const { urls } = JSON.parse(Buffer.concat(chunks).toString())
    answer(urls.length === 1 ? one : fifty)
  })
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
