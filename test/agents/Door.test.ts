/** Tests which requests the endpoint for agents admits, and how programs without HTTP reach it. */
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import * as Effect from "effect/Effect"
import * as RawHttp from "../support/RawHttp.ts"
import { resultOf, revisions, start, urlsOf } from "./agentClient.ts"

const ping = (headers: Readonly<Record<string, string>>): RawHttp.Request => ({
  method: "POST",
  path: "/mcp",
  headers: {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
})

it("the MCP endpoint admits keys in either header, pages of allowed origins, and this machine's host names", async () => {
  const origin = "https://app.example.com"
  await using service = await start({ settings: { AUTHORITY_CORS_ORIGINS: origin } })
  const key = { "x-api-key": service.key }
  const own = new URL(service.url).host
  for (const [headers, status] of [
    [key, 200],
    [{ authorization: `Bearer ${service.key}` }, 200],
    [{}, 401],
    [{ authorization: "Bearer am_wrong" }, 401],
    [{ ...key, origin }, 200],
    [{ ...key, origin: `http://${own}` }, 200],
    [{ ...key, origin: "https://evil.example.org" }, 403],
    [{ ...key, origin: "null" }, 403],
    [{ ...key, host: "evil.example.org" }, 403],
    [{ ...key, host: "localhost" }, 200],
    [{ ...key, host: "app.example.com" }, 200],
  ] as const) {
    const answer = await Effect.runPromise(RawHttp.request(service.url, ping(headers)))
    assert.strictEqual(answer.status, status, JSON.stringify(headers))
    assert.strictEqual(answer.headers["cache-control"], "no-store")
  }
})

it("the MCP endpoint does not exist when AUTHORITY_MCP is off", async () => {
  await using service = await start({ settings: { AUTHORITY_MCP: "off" } })
  const headers = { "x-api-key": service.key }
  const answer = await Effect.runPromise(RawHttp.request(service.url, ping(headers)))
  assert.strictEqual(answer.status, 404)
})

it.each(revisions)("authority mcp serves %s over stdin and stdout", async (_, mode) => {
  await using service = await start()
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } })
  const main = join(import.meta.dirname, "../../src/main.ts")
  const env = { AUTHORITY_API_KEY: service.key }
  const args = [main, "mcp", "--url", service.url]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
  try {
    const call = async (key: string) =>
      resultOf(
        await client.callTool({
          name: "check_authority",
          arguments: { urls: urlsOf(2), name: key },
        }),
      )
    assert.strictEqual((await client.listTools()).tools.length, 5)
    const results = await Promise.all(["a", "b", "c"].map(call))
    assert.deepStrictEqual(
      results.map(({ creditsUsed }) => creditsUsed),
      [2, 2, 2],
    )
  } finally {
    await client.close()
  }
})
