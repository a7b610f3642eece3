/**
 * An OTLP receiver that answers every request with 200. Prints its address. A GET request returns
 * the number of received spans.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

let spans = 0

const server = createServer((request, response) => {
  response.setHeader("content-type", "application/json")
  if (request.method === "GET") {
    response.end(JSON.stringify({ spans }))
    return
  }
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    if (request.url === "/v1/traces") spans += count(Buffer.concat(chunks), '"spanId":')
    response.end("{}")
  })
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})

const count = (text: Buffer, part: string) => {
  let found = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) found++
  return found
}
