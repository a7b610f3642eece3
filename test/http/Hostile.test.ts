/** Tests that hostile requests are answered or cut off, and that other clients are not affected. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { make, succeeding } from "../support/ScriptedProvider.ts"
import { batch, batchPath, creditsPath, shared, start } from "../support/TestServer.ts"
import { connect, exchange, statusesIn, wire } from "../support/RawHttp.ts"
import { eventually } from "../support/eventually.ts"

const running = shared()

const document = '{"urls":["example.com"]}'
/** A batch that is free, for tests that share a server. */
const free = '{"urls":["localhost"]}'

const json = (key: string) => ({ "content-type": "application/json", "x-api-key": key })

const closing = { connection: "close" }

const sized = (body: string) => ({ "content-length": String(Buffer.byteLength(body)) })

/** Returns the text after the last headers. */
const lastBody = (received: string) => received.slice(received.lastIndexOf("\r\n\r\n") + 4)

const failure = (message: string) => JSON.stringify({ success: false, message })

describe("malformed HTTP", () => {
  it.scopedLive.each<[name: string, bytes: string | Buffer]>([
    ["the greeting of an SSH client", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["a TLS handshake", Buffer.from("16030100a5010000a10303", "hex")],
    ["a malformed request line", "GIMME /everything NOW\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nhost localhost\r\n\r\n"],
    [
      "a request with two different Content-Lengths",
      `POST ${batchPath} HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`,
    ],
    [
      "a request with both Content-Length and Transfer-Encoding: chunked",
      `POST ${batchPath} HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["a negative Content-Length", `POST ${batchPath} HTTP/1.1\r\ncontent-length: -1\r\n\r\n`],
  ])("%s gets 400 in JSON, and the connection closes", ([, bytes]) =>
    Effect.gen(function* () {
      const { credits, url } = yield* running
      const received = yield* exchange(url, bytes)
      assert.deepStrictEqual(statusesIn(received), [400])
      assert.include(received, "Content-Type: application/json\r\n")
      assert.strictEqual(lastBody(received), failure("This is not a valid HTTP request."))
      assert.strictEqual((yield* credits).status, 200)
    }),
  )
})

describe("Upgrade, Expect and HTTP/1.0", () => {
  it.scopedLive.each<[name: string, headers: Record<string, string>]>([
    ["Upgrade: h2c", { upgrade: "h2c", connection: "Upgrade, HTTP2-Settings, close" }],
    ["Upgrade: websocket", { upgrade: "websocket", connection: "Upgrade, close" }],
    ["Expect: 100-continue", { expect: "100-continue", ...closing }],
    ["an unknown value of Expect", { expect: "the-unknown", ...closing }],
  ])("a POST with %s is answered with 200", ([, headers]) =>
    Effect.gen(function* () {
      const { key, url } = yield* running
      const all = { ...json(key), ...headers, ...sized(free) }
      const received = yield* exchange(url, wire(`POST ${batchPath}`, all, free))
      assert.strictEqual(statusesIn(received).at(-1), 200)
      assert.lengthOf(JSON.parse(lastBody(received)).data.failedUrls, 1)
    }),
  )

  it.scopedLive("a client that waits for 100 Continue gets it and then its answer", () =>
    Effect.gen(function* () {
      const { key, url } = yield* running
      const connection = yield* connect(url)
      const headers = { ...json(key), expect: "100-continue", ...closing, ...sized(free) }
      connection.send(wire(`POST ${batchPath}`, headers))
      yield* eventually("the server sends 100 Continue", () =>
        connection.received().startsWith("HTTP/1.1 100 Continue\r\n"),
      )
      connection.send(free)
      yield* eventually("the server closes", connection.isClosed)
      assert.deepStrictEqual(statusesIn(connection.received()), [100, 200])
    }),
  )
})

describe("several requests on one connection", () => {
  it.scopedLive("pipelined requests on one connection are answered in order", () =>
    Effect.gen(function* () {
      const { books, key, url } = yield* start()
      const post = (urls: string) =>
        wire(`POST ${batchPath}`, { ...json(key), ...sized(urls) }, urls)
      const received = yield* exchange(
        url,
        post(document) +
          post("{") +
          wire("GET /nothing", {}) +
          post(document) +
          wire(`GET ${creditsPath}`, { ...json(key), ...closing }),
      )
      assert.deepStrictEqual(statusesIn(received), [200, 400, 404, 200, 200])
      assert.deepStrictEqual(yield* books, { available: 998, held: 0, charged: 2 })
    }),
  )

  it.scopedLive(
    "a connection continues after refused requests, whether or not they were read",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* running
        const post = (path: string, apiKey: string, body = document) =>
          wire(`POST ${path}`, { ...json(apiKey), ...sized(body) }, body)
        const inChunks = { ...json("am_wrong"), "transfer-encoding": "chunked" }
        const received = yield* exchange(
          url,
          post(batchPath, "am_wrong") +
            wire(`POST ${batchPath}`, inChunks, "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n") +
            post("/nothing", key) +
            post(creditsPath, key) +
            post(batchPath, key, `{"urls":["${"x".repeat(400_000)}"]}`) +
            wire(`GET ${creditsPath}`, { ...json(key), ...closing }),
        )
        assert.deepStrictEqual(statusesIn(received), [401, 401, 404, 405, 400, 200])
      }),
  )
})

describe("HTTP framing headers", () => {
  const hosts = (...values: ReadonlyArray<string>) =>
    [...values.map((value) => `host: ${value}`), "connection: close"].join("\r\n")

  /** Returns what the server sends to a request with these Host headers. */
  const ask = (line: string, ...values: ReadonlyArray<string>) =>
    Effect.flatMap(running, ({ url }) => exchange(url, `${line}\r\n${hosts(...values)}\r\n\r\n`))

  it.scopedLive.each([
    [],
    ["localhost", "localhost"],
    ["a.example.com", "b.example.com"],
    ["http://localhost"],
    ["localhost/v1"],
    ["user@localhost"],
    ["local host"],
    ["a.example.com, b.example.com"],
    ["localhost:80:81"],
    ["localhost:http"],
    ["localhost:65536"],
    ["::1"],
    ["[localhost]"],
  ])("the Host headers %j get 400 on every path", (values) =>
    Effect.gen(function* () {
      const message =
        "The request must have exactly one Host header, in the form host or host:port."
      for (const line of [
        `GET ${creditsPath}`,
        "GET /health/live",
        "GET /nothing",
        `POST ${batchPath}`,
      ]) {
        const received = yield* ask(`${line} HTTP/1.1`, ...values)
        assert.deepStrictEqual(statusesIn(received), [400], line)
        assert.deepStrictEqual(JSON.parse(lastBody(received)), {
          success: false,
          message,
          error: {
            issues: [{ code: "invalid_header", message, path: [] }],
            name: "ValidationError",
          },
        })
        assert.match(received, /\r\nx-request-id: /i)
      }
    }),
  )

  it.scopedLive.each([
    "",
    "localhost",
    "LOCALHOST:8080",
    "localhost:",
    "my_host.internal",
    "127.0.0.1:80",
    "[::1]",
    "[::ffff:127.0.0.1]:8080",
    "xn--mnchen-3ya.de.",
  ])("the Host header %j is accepted", (value) =>
    Effect.map(ask("GET /health/live HTTP/1.1", value), (received) =>
      assert.deepStrictEqual(statusesIn(received), [200]),
    ),
  )

  it.scopedLive.each<[hosts: ReadonlyArray<string>, status: number]>([
    [[], 200],
    [["a b"], 400],
    [["localhost", "localhost"], 400],
  ])("an HTTP/1.0 request with the Host headers %j gets %i", ([values, status]) =>
    Effect.map(ask("GET /health/live HTTP/1.0", ...values), (received) =>
      assert.deepStrictEqual(statusesIn(received), [status]),
    ),
  )

  it.scopedLive.each<[codings: string, status: number]>([
    ["Chunked", 200],
    ["gzip, chunked", 400],
    ["identity, chunked", 400],
    ["chunked, chunked", 400],
    ["chunked, gzip", 400],
  ])("Transfer-Encoding: %s gets %i", ([codings, status]) =>
    Effect.gen(function* () {
      const { key, url } = yield* running
      const body = `${free.length.toString(16)}\r\n${free}\r\n0\r\n\r\n`
      for (const path of [batchPath, "/nothing"]) {
        // The server closes the connection after a refused request, even if the client did not ask
        // for that.
        const ends = status === 200 ? closing : {}
        const headers = { ...json(key), "transfer-encoding": codings, ...ends }
        const received = yield* exchange(url, wire(`POST ${path}`, headers, body))
        const expected = status === 200 && path === "/nothing" ? 404 : status
        assert.deepStrictEqual(statusesIn(received), [expected])
        assert.strictEqual(JSON.parse(lastBody(received)).success, expected === 200)
      }
    }),
  )

  it.scopedLive.each(["gzip", "br", "identity, gzip", "x"])(
    "Content-Encoding: %s gets 415 on every path, and nothing is charged",
    (coding) =>
      Effect.gen(function* () {
        const { books, key, post, send } = yield* running
        const answer = yield* post(document, { "content-encoding": coding })
        assert.strictEqual(answer.status, 415)
        assert.strictEqual(answer.headers["accept-encoding"], "identity")
        const message = "The body must be sent without a Content-Encoding."
        assert.strictEqual(answer.text, failure(message))
        const headers = { "content-encoding": coding, "x-api-key": key }
        assert.strictEqual((yield* send({ path: "/nothing", headers })).status, 415)
        assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
        assert.strictEqual((yield* post(free, { "content-encoding": "Identity" })).status, 200)
      }),
  )
})

describe("a hostile request body", () => {
  it.scopedLive.each<[name: string, body: string]>([
    ["numbers", `{"urls":[${Array(260_000).fill("1").join()}]}`],
    ["empty strings", `{"urls":[${Array(170_000).fill('""').join()}]}`],
    ["short strings", `{"urls":[${Array(130_000).fill('"a"').join()}]}`],
    ["lists", `{"urls":[${Array(170_000).fill("[]").join()}]}`],
    ["opening brackets", "[".repeat(512 * 1024)],
    ["nested lists", "[".repeat(256 * 1024) + "]".repeat(256 * 1024)],
    ["nested lists in the field urls", `{"urls":${"[".repeat(250_000)}${"]".repeat(250_000)}}`],
    ["one long field name", `{"${"x".repeat(500_000)}":1}`],
    ["one long string", `{"urls":"${"x".repeat(500_000)}"}`],
    ["one long URL", `{"urls":["${"x".repeat(500_000)}"]}`],
    ["many unknown fields", `{${Array.from({ length: 45_000 }, (_, i) => `"x${i}":1`).join()}}`],
  ])("a large body of %s gets a 400 of less than 64 KiB", ([, body]) =>
    Effect.gen(function* () {
      const { post } = yield* running
      assert.isAtMost(body.length, 512 * 1024)
      const answer = yield* post(body)
      assert.strictEqual(answer.status, 400)
      assert.isAtMost(Buffer.byteLength(answer.text), 64 * 1024)
    }),
  )

  it.scopedLive("the connection of a chunked body that never ends is cut", () =>
    Effect.gen(function* () {
      const { credits, key, log, url } = yield* start()
      const connection = yield* connect(url)
      const headers = { ...json(key), "transfer-encoding": "chunked" }
      connection.send(wire(`POST ${batchPath}`, headers))
      const chunk = Buffer.alloc(64 * 1024, "x")
      const size = Buffer.from(`${chunk.length.toString(16)}\r\n`)
      const flood = yield* connection
        .sendOut(Buffer.concat([size, chunk, Buffer.from("\r\n")]))
        .pipe(Effect.repeat({ until: connection.isClosed }), Effect.fork)
      yield* eventually("the server cuts the connection", connection.isClosed)
      yield* Fiber.interrupt(flood)
      assert.strictEqual((yield* credits).status, 200)
      assert.deepStrictEqual(log, [])
    }),
  )

  it.scopedLive("a client that hangs up in the middle of its body is not charged", () =>
    Effect.gen(function* () {
      const provider = make(succeeding)
      const { books, credits, key, log, url } = yield* start({ provider: provider.layer })
      const connection = yield* connect(url)
      const headers = { ...json(key), "content-length": "1000" }
      connection.send(wire(`POST ${batchPath}`, headers, document.slice(0, 10)))
      // When the server answers another request, it has read the first half of the body.
      assert.strictEqual((yield* credits).status, 200)
      connection.hangUp()
      yield* eventually("the connection is gone", connection.isClosed)
      assert.strictEqual((yield* credits).status, 200)
      assert.deepStrictEqual(provider.calls, [])
      assert.deepStrictEqual(yield* books, { available: 1000, held: 0, charged: 0 })
      assert.deepStrictEqual(log, [])
    }),
  )

  it.scopedLive("a body that arrives byte by byte is read", () =>
    Effect.gen(function* () {
      const { key, send } = yield* running
      const whole = batch(key, free, sized(free))
      assert.strictEqual((yield* send({ ...whole, body: [...free] })).status, 200)
    }),
  )

  it.scopedLive("the body of a GET request is ignored", () =>
    Effect.gen(function* () {
      const { key, url } = yield* running
      const body = "x".repeat(1000)
      const headers = { ...json(key), ...sized(body), ...closing }
      const received = yield* exchange(url, wire(`GET ${creditsPath}`, headers, body))
      assert.deepStrictEqual(statusesIn(received), [200])
    }),
  )
})

describe("a client that hangs up", () => {
  it.scopedLive(
    "a client that hangs up during the lookup is charged for the URLs that succeed",
    () =>
      Effect.gen(function* () {
        const gate = yield* Effect.makeLatch()
        const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
        const { books, charges, check } = yield* start({ provider: provider.layer })
        const client = yield* Effect.fork(check(["example.com", "example.org"]))
        yield* eventually("the provider is asked", () => provider.calls.length === 1)
        yield* Fiber.interrupt(client)
        assert.deepStrictEqual(yield* books, { available: 998, held: 2, charged: 0 })
        yield* gate.open
        yield* eventually(
          "the hold ends",
          Effect.map(books, ({ held }) => held === 0),
        )
        assert.deepStrictEqual(yield* books, { available: 998, held: 0, charged: 2 })
        assert.lengthOf(yield* charges, 1)
      }),
  )

  it.scopedLive("a client that hangs up does not end another client's lookup of the same URL", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const provider = make((targets) => Effect.zipRight(gate.await, succeeding(targets)))
      const { books, check } = yield* start({ provider: provider.layer })
      const leaving = yield* Effect.fork(check(["example.com"]))
      const staying = yield* Effect.fork(check(["example.com"]))
      yield* eventually("the provider is asked twice", () => provider.calls.length === 2)
      yield* Fiber.interrupt(leaving)
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(staying)).status, 200)
      yield* eventually(
        "both are charged",
        Effect.map(books, ({ charged }) => charged === 2),
      )
    }),
  )
})
