/** When the server ends a connection, whatever its client does: these never close their half. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultLimits } from "../../src/http/NodeServer.ts"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { batchPath, creditsPath, start } from "../support/TestServer.ts"
import { connect, type Connection, eventually, request } from "../../scripts/support/Wire.ts"

const document = '{"urls":["example.com"]}'

const head = (line: string, headers: Readonly<Record<string, string>>) =>
  [
    `${line} HTTP/1.1`,
    "host: localhost",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "\r\n",
  ].join("\r\n")

const json = (key: string) => ({ "content-type": "application/json", "x-api-key": key })

const statuses = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** Short, so that no test waits for long. */
const limits = {
  headersMs: 300,
  requestMs: 600,
  idleMs: 2000,
  refusedMs: 100,
  discardMs: 200,
}

describe("a client that never closes loses its connection", () => {
  for (const [name, bytes, expected] of [
    ["when it sends nothing", () => "", [408]],
    ["when its headers have no end", () => `GET ${creditsPath} HTTP/1.1\r\nhost: x\r\n`, [408]],
    [
      "when its second request has no end",
      (key) => `${head(`GET ${creditsPath}`, json(key))}GET / HTTP/1.1\r\n`,
      [200, 408],
    ],
    [
      "when its body stops halfway",
      (key) => head(`POST ${batchPath}`, { ...json(key), "content-length": "100" }) + document,
      [408],
    ],
    ["when it has no further request", (key) => head(`GET ${creditsPath}`, json(key)), [200]],
    [
      "when it asks for that",
      (key) => head(`GET ${creditsPath}`, { ...json(key), connection: "close" }),
      [200],
    ],
    ["when it speaks no HTTP", () => "SSH-2.0-OpenSSH_9.6\r\n", [400]],
    ["when its headers are too large", () => head("GET /", { x: "x".repeat(20_000) }), [431]],
    [
      "when its chunks are none",
      (key) =>
        `${head(`POST ${batchPath}`, { ...json(key), "transfer-encoding": "chunked" })}zzz\r\n`,
      [400],
    ],
  ] satisfies ReadonlyArray<
    readonly [name: string, bytes: (key: string) => string, statuses: ReadonlyArray<number>]
  >) {
    it.scopedLive(name, () =>
      Effect.gen(function* () {
        const { connections, key, url } = yield* start({ limits })
        const connection = yield* connect(url, { closes: false })
        connection.send(bytes(key))
        yield* eventually("the answers", () => {
          return statuses(connection.received()).length === expected.length
        })
        yield* eventually(
          "the server has no connection",
          Effect.map(connections, (count) => count === 0),
        )
        assert.deepStrictEqual(statuses(connection.received()), expected)
      }),
    )
  }

  it.scopedLive("when it does not read its answers", () =>
    Effect.gen(function* () {
      const { connections, key, url } = yield* start({ limits })
      const connection = yield* connect(url, { closes: false })
      connection.stopReading()
      connection.send(head("GET /openapi.json", json(key)).repeat(2000))
      yield* eventually(
        "the server has no connection",
        Effect.map(connections, (count) => count === 0),
      )
    }),
  )

  it("within 20 s of its opening, by default, when it sends nothing", () => {
    // Node looks once a second for those whose time is over.
    assert.isBelow(defaultLimits.headersMs + 1000 + defaultLimits.refusedMs, 20_000)
    assert.isAtMost(defaultLimits.refusedMs, 1000)
  })

  it.scopedLive("but not while its answer is being made", () =>
    Effect.gen(function* () {
      const provider = make((targets) => Effect.delay(succeeding(targets), "3 seconds"))
      const { check } = yield* start({ limits, provider: provider.layer })
      assert.strictEqual((yield* check(["example.com"])).status, 200)
    }),
  )
})

/** Requests that are answered before their body has come. */
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

const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`

/** Sends chunks without end, each once the one before it had a chance to leave. */
const flood = (connection: Pick<Connection, "send">) =>
  Effect.forever(
    Effect.zipRight(
      Effect.sync(() => connection.send(chunk)),
      Effect.sleep(1),
    ),
  )

describe("an answer that leaves before the body has come", () => {
  for (const [status, line, headers] of early) {
    it.scopedLive(`says that the connection closes, which then closes: ${status}`, () =>
      Effect.gen(function* () {
        const { connections, key, url } = yield* start({ limits: { discardMs: 200 } })
        const connection = yield* connect(url, { closes: false })
        connection.send(head(line, { ...headers(key), "content-length": "1000000" }) + document)
        yield* eventually(
          "the server has no connection",
          Effect.map(connections, (count) => count === 0),
        )
        assert.deepStrictEqual(statuses(connection.received()), [status])
        assert.match(connection.received(), /\r\nconnection: close\r\n/i)
      }),
    )

    it.scopedLive(`ends a body without end: ${status}`, () =>
      Effect.gen(function* () {
        const { connections, credits, key, url } = yield* start({
          limits: { discardMs: 60_000, discardBytes: 1024 * 1024 },
        })
        const connection = yield* connect(url, { closes: false })
        connection.send(head(line, { ...headers(key), "transfer-encoding": "chunked" }))
        yield* Effect.fork(flood(connection))
        yield* eventually("the server cuts the connection", connection.isClosed)
        assert.deepStrictEqual(statuses(connection.received()), [status])
        assert.isBelow(connection.sent(), 64 * 1024 * 1024)
        assert.strictEqual((yield* credits).status, 200)
        yield* eventually(
          "the server has no connection",
          Effect.map(connections, (count) => count === 0),
        )
      }),
    )

    it.scopedLive(`reaches a client that sends its whole body of 5 MB first: ${status}`, () =>
      Effect.gen(function* () {
        const { key, url } = yield* start()
        const [method = "", path = ""] = line.split(" ")
        const body = Buffer.alloc(5_000_000, "x")
        for (const framing of [
          { "content-length": body.length },
          { "transfer-encoding": "chunked" },
        ]) {
          const answer = yield* request(url, {
            method,
            path,
            headers: { ...headers(key), ...framing },
            body,
          })
          assert.strictEqual(answer.status, status)
          assert.strictEqual(answer.headers["connection"], "close")
        }
      }),
    )
  }

  it.scopedLive("is the last one: a request behind that body is not served", () =>
    Effect.gen(function* () {
      const provider = make(succeeding)
      const { books, key, url } = yield* start({ provider: provider.layer })
      const connection = yield* connect(url)
      const length = 1_000_000
      connection.send(head("POST /nothing", { ...json(key), "content-length": `${length}` }))
      yield* eventually("the answer", () => connection.received().includes("404"))
      connection.send("x".repeat(length))
      const next = { ...json(key), "content-length": `${document.length}` }
      connection.send(head(`POST ${batchPath}`, next) + document)
      yield* eventually("the server closes", connection.isClosed)
      assert.deepStrictEqual(statuses(connection.received()), [404])
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
    }),
  )
})
