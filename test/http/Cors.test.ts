import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { batchPath, creditsPath, start } from "../support/TestServer.ts"
import type { Answer } from "../support/RawHttp.ts"

const origin = "https://app.example.com"

const preflight = (from: string) => ({
  method: "OPTIONS",
  path: batchPath,
  headers: {
    origin: from,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,x-api-key",
  },
})

const corsHeaders = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("access-control")))

describe("without allowed origins", () => {
  it.scopedLive("no page of another origin gets CORS headers when no origins are allowed", () =>
    Effect.gen(function* () {
      const { key, send } = yield* start()
      const asked = yield* send(preflight(origin))
      assert.strictEqual(asked.status, 405)
      assert.deepStrictEqual(corsHeaders(asked), {})
      const got = yield* send({ path: creditsPath, headers: { origin, "x-api-key": key } })
      assert.strictEqual(got.status, 200)
      assert.deepStrictEqual(corsHeaders(got), {})
    }),
  )
})

describe("with allowed origins", () => {
  const corsOrigins = [origin, "https://other.example.com"]

  it.scopedLive("a page of an allowed origin can send an API key and JSON", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ corsOrigins })
      const answer = yield* send(preflight(origin))
      assert.strictEqual(answer.status, 204)
      const headers = corsHeaders(answer)
      assert.strictEqual(headers["access-control-allow-origin"], origin)
      assert.include(String(headers["access-control-allow-methods"]), "POST")
      const allowed = String(headers["access-control-allow-headers"]).toLowerCase().split(/, ?/)
      assert.includeMembers(allowed, ["content-type", "x-api-key"])
    }),
  )

  it.scopedLive("a page of an allowed origin can read successful answers and errors", () =>
    Effect.gen(function* () {
      const { key, send } = yield* start({ corsOrigins })
      const read = (path: string, headers: Record<string, string> = {}) =>
        send({ path, headers: { origin, ...headers } })
      for (const [status, answer] of [
        [200, yield* read(creditsPath, { "x-api-key": key })],
        [401, yield* read(creditsPath)],
        [404, yield* read("/nothing")],
        [405, yield* read(batchPath)],
      ] as const) {
        assert.strictEqual(answer.status, status)
        const headers = corsHeaders(answer)
        assert.strictEqual(headers["access-control-allow-origin"], origin, `on ${status}`)
        assert.include(String(headers["access-control-expose-headers"]), "x-request-id")
      }
    }),
  )

  const evil = "https://evil.example.net"

  it.scopedLive.each<[allowed: ReadonlyArray<string>, granted: string | undefined]>([
    [corsOrigins, undefined],
    [["*"], "*"],
  ])("with the origins %j, a page of another origin is granted %s", ([allowed, granted]) =>
    Effect.gen(function* () {
      const { send } = yield* start({ corsOrigins: allowed })
      const answer = yield* send(preflight(evil))
      assert.strictEqual(answer.headers["access-control-allow-origin"], granted)
    }),
  )

  for (const allowed of [[origin], corsOrigins, ["*"]]) {
    it.scopedLive(
      `every answer has Vary: Origin when the allowed origins are ${allowed.join(" ")}`,
      () =>
        Effect.gen(function* () {
          const { key, send } = yield* start({ corsOrigins: allowed })
          const asks = [
            preflight(origin),
            { path: creditsPath, headers: { "x-api-key": key } },
            { path: creditsPath },
            { path: "/nothing" },
            { path: batchPath },
            { path: "/openapi.json" },
            { path: "/docs/" },
            { method: "PROPFIND", path: "/" },
            { path: "/", headers: { "content-encoding": "gzip" } },
            { method: "POST", path: batchPath, body: "x".repeat(600_000) },
          ]
          for (const ask of asks) {
            for (const from of [{}, { origin }, { origin: "https://evil.example.net" }]) {
              const { headers } = yield* send({ ...ask, headers: { ...ask.headers, ...from } })
              assert.match(String(headers.vary), /(^|, )Origin$/, JSON.stringify(ask))
            }
          }
          const page = yield* send({ path: "/docs", headers: { origin } })
          assert.sameMembers(String(page.headers.vary).toLowerCase().split(", "), [
            "accept-encoding",
            "origin",
          ])
        }),
    )
  }
})
