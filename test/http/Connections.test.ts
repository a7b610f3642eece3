/** Tests when the server closes a connection whose client never closes its side. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { batchPath, creditsPath, start } from "../support/TestServer.ts"
import { connect, request, statusesIn, wire } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const document = '{"urls":["example.com"]}'

const json = (key: string) => ({ "content-type": "application/json", "x-api-key": key })

const eventuallyNone = (connections: Effect.Effect<number>) =>
  eventually(
    "the server has no connection",
    Effect.map(connections, (count) => count === 0),
  )

/** Short limits keep the tests fast. */
const limits = {
  headersMs: 300,
  requestMs: 600,
  idleMs: 2000,
  refusedMs: 100,
}

describe("a client that never closes its side of the connection", () => {
  for (const [name, bytes, expected] of [
    ["sends nothing", () => "", [408]],
    ["never ends its headers", () => `GET ${creditsPath} HTTP/1.1\r\nhost: x\r\n`, [408]],
    [
      "never ends its second request",
      (key) => `${wire(`GET ${creditsPath}`, json(key))}GET / HTTP/1.1\r\n`,
      [200, 408],
    ],
    [
      "stops in the middle of its body",
      (key) => wire(`POST ${batchPath}`, { ...json(key), "content-length": "100" }) + document,
      [408],
    ],
    ["sends no further request", (key) => wire(`GET ${creditsPath}`, json(key)), [200]],
    [
      "sends Connection: close",
      (key) => wire(`GET ${creditsPath}`, { ...json(key), connection: "close" }),
      [200],
    ],
    ["does not speak HTTP", () => "SSH-2.0-OpenSSH_9.6\r\n", [400]],
    ["sends headers that are too large", () => wire("GET /", { x: "x".repeat(20_000) }), [431]],
    [
      "sends a malformed chunk",
      (key) =>
        `${wire(`POST ${batchPath}`, { ...json(key), "transfer-encoding": "chunked" })}zzz\r\n`,
      [400],
    ],
  ] satisfies ReadonlyArray<
    readonly [name: string, bytes: (key: string) => string, statuses: ReadonlyArray<number>]
  >) {
    it.scopedLive(`the server closes the connection of a client that ${name}`, () =>
      Effect.gen(function* () {
        const { connections, key, url } = yield* start({ limits })
        const connection = yield* connect(url, { closes: false })
        connection.send(bytes(key))
        yield* eventually("the answers", () => {
          return statusesIn(connection.received()).length === expected.length
        })
        yield* eventuallyNone(connections)
        assert.deepStrictEqual(statusesIn(connection.received()), expected)
      }),
    )
  }

  it.scopedLive("the server closes the connection of a client that does not read its answers", () =>
    Effect.gen(function* () {
      const { connections, key, url } = yield* start({ limits })
      const connection = yield* connect(url, { closes: false })
      connection.stopReading()
      connection.send(wire("GET /openapi.json", json(key)).repeat(2000))
      yield* eventuallyNone(connections)
    }),
  )

  it.scopedLive("a connection is not closed as idle while its answer is being computed", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { check, key, url } = yield* start({
        limits: { idleMs: 1000 },
        provider: provider.layer,
      })
      const waiting = yield* Effect.fork(check(["example.com"]))
      yield* eventually("the provider is asked", () => provider.calls.length === 1)
      const idle = yield* connect(url)
      idle.send(wire(`GET ${creditsPath}`, json(key)))
      yield* eventually("a later connection is closed as idle", idle.isClosed)
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
    }),
  )
})

/** Requests that the server answers before the whole request body has arrived. */
const early: ReadonlyArray<
  readonly [
    status: number,
    line: string,
    headers: (key: string) => Readonly<Record<string, string>>,
  ]
> = [
  [400, `POST ${batchPath}`, (key) => ({ "x-api-key": key })],
  [401, `POST ${batchPath}`, () => json("am_wrong")],
  [404, "POST /nothing", json],
  [405, `POST ${creditsPath}`, json],
  [413, `POST ${batchPath}`, json],
  [415, `POST ${batchPath}`, (key) => ({ ...json(key), "content-encoding": "gzip" })],
]

describe("an answer that is sent before the request body has arrived", () => {
  for (const [status, line, headers] of early) {
    it.scopedLive(`a client that does not finish its body is cut off after a ${status}`, () =>
      Effect.gen(function* () {
        const { connections, key, url } = yield* start({ limits })
        const connection = yield* connect(url, { closes: false })
        connection.send(wire(line, { ...headers(key), "content-length": "1000000" }) + document)
        yield* eventuallyNone(connections)
        assert.deepStrictEqual(statusesIn(connection.received()), [status])
      }),
    )

    it.scopedLive(`a ${status} reaches a client that sends 5 MB before it reads`, () =>
      Effect.gen(function* () {
        const { key, url } = yield* start()
        const [method = "", path = ""] = line.split(" ")
        const body = Buffer.alloc(5_000_000, "x")
        const sized = { "content-length": body.length }
        const chunked = { "transfer-encoding": "chunked" }
        // For a chunked body that grows above the limit while it is read, the server closes the
        // connection.
        for (const framing of status === 413 ? [sized] : [sized, chunked]) {
          const answer = yield* request(url, {
            method,
            path,
            headers: { ...headers(key), ...framing },
            body,
          })
          assert.strictEqual(answer.status, status)
        }
      }),
    )
  }

  it.scopedLive("answers reach 50 clients that send bodies of 2 MB before they read", () =>
    Effect.gen(function* () {
      const { connections, url } = yield* start()
      const body = Buffer.alloc(2_000_000, "x")
      const asking = request(url, {
        method: "POST",
        path: "/nothing",
        headers: { "content-length": body.length },
        body,
      })
      const answers = yield* Effect.all(Array<typeof asking>(50).fill(asking), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [404])
      yield* eventuallyNone(connections)
    }),
  )
})
