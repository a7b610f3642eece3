// A provider for AUTHORITY_PROVIDER=http: Node alone, no libraries. Start it with
//   TOKEN=secret node scripts/http-provider/example.mjs
import { createServer } from "node:http"
import { text } from "node:stream/consumers"

/** Your figures, by registered domain. */
const figures = new Map([
  ["example.com", { domainAuthority: 91, pageAuthority: 74.5, spamScore: 1 }],
  ["example.org", { domainAuthority: 62, pageAuthority: 40 }],
  ["wikipedia.org", { domainAuthority: 97, pageAuthority: 88 }],
])

const resultOf = ({ domain, url }) =>
  figures.has(domain) ? { url, ...figures.get(domain) } : { url, unknown: true }

const answer = (response, status, body) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

const server = createServer(async (request, response) => {
  if (request.headers.authorization !== `Bearer ${process.env.TOKEN}`) {
    return answer(response, 401, { message: "the token is wrong" })
  }
  const { targets } = JSON.parse(await text(request))
  answer(response, 200, { results: targets.map(resultOf) })
})

server.listen(Number(process.env.PORT ?? 9090), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
