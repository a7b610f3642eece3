import { createServer } from "node:http"
import { setImmediate } from "node:timers"
import { text } from "node:stream/consumers"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Request } from "../../src/http/Request.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import * as RawHttp from "../../scripts/support/RawHttp.ts"

/**
 * Echoes the request body. In the next turn of the event loop, `/body` reads the property `body` and
 * `/stream` reads the stream. `/late` reads the stream when the whole body has arrived.
 */
const server = Effect.gen(function* () {
  const all = yield* Effect.makeLatch()
  let bytesRead = () => 0
  const listening = createServer({ IncomingMessage: Request }, (request, response) => {
    const asStream = () => text(request).then((all) => response.end(`<${all}>`))
    setImmediate(() => {
      if (request.url === "/body") response.end(`<${request.body?.toString() ?? "not there"}>`)
      else if (request.url === "/stream") void asStream()
      else if (request.url === "/late") void Effect.runPromise(all.await).then(asStream)
      else response.end("<>")
    })
  }).on("connection", (socket) => (bytesRead = () => socket.bytesRead))
  return { url: yield* RawHttp.listen(listening), bytesRead: () => bytesRead(), all }
})

const post = (path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n${body}`

/** Sends the pieces on one connection and returns the answers. */
const answers = (count: number, ...pieces: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { all, bytesRead, url } = yield* server
    const connection = yield* RawHttp.connect(url)
    const given = () => [...connection.received().matchAll(/<[^>]*>/g)].map(([answer]) => answer)
    for (const piece of pieces) {
      connection.send(piece)
      yield* eventually("the piece arrives", () => bytesRead() === connection.sent())
    }
    yield* all.open
    yield* eventually("all answers", () => given().length === count)
    return given()
  })

it.scopedLive(
  "a request body that arrives in one piece can be read from the property request.body; it can also be read as a stream, at once or after the whole body has arrived",
  () =>
    Effect.gen(function* () {
      const sent = ["/body", "/stream", "/late", "/body"].map((path, i) => post(path, `body ${i}`))
      assert.deepStrictEqual(yield* answers(4, ...sent), [
        "<body 0>",
        "<body 1>",
        "<body 2>",
        "<body 3>",
      ])
    }),
)

it.scopedLive(
  "a request body that arrives in several pieces can be read as a stream, and the first piece is not lost",
  () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* answers(1, post("/stream", "a", 3), "b", "c"), ["<abc>"])
      assert.deepStrictEqual(yield* answers(1, post("/late", "a", 3), "b", "c"), ["<abc>"])
      assert.deepStrictEqual(yield* answers(1, post("/late", "", 2), "b", "c"), ["<bc>"])
    }),
)

it.scopedLive(
  "a chunked request body can be read only as a stream, and the property request.body stays undefined",
  () =>
    Effect.gen(function* () {
      const head = (path: string) =>
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`
      const chunks = "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"
      assert.deepStrictEqual(yield* answers(1, head("/stream") + chunks), ["<abc>"])
      assert.deepStrictEqual(yield* answers(1, head("/late") + chunks), ["<abc>"])
      assert.deepStrictEqual(yield* answers(1, head("/body") + chunks), ["<not there>"])
    }),
)

it.scopedLive(
  "while a chunked body waits for its turns, its small chunks are not kept in memory",
  () =>
    Effect.gen(function* () {
      let kept = 0
      const listening = createServer({ IncomingMessage: Request }, (request, response) => {
        let length = 0
        request.on("data", (chunk: Buffer) => {
          length += chunk.length
          kept = Math.max(kept, request.readableLength)
          request.readInTurn()
        })
        request.on("end", () => response.end(String(length)))
      })
      const url = yield* RawHttp.listen(listening)
      const head = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
      const body = "1\r\nx\r\n".repeat(30_000) + "0\r\n\r\n"
      const { received, send } = yield* RawHttp.connect(url)
      // The connection serves a second request as well.
      send(head + body + head + body)
      yield* eventually(
        "both answers",
        () => received().match(/\r\n30000(?=\r|HTTP|$)/g)?.length === 2,
      )
      assert.strictEqual(kept, 0)
    }),
)

it.scopedLive("an unread body does not block the next request on the connection", () =>
  Effect.gen(function* () {
    const sent = [post("/", "x"), post("/", ""), post("/", "x") + post("/body", "y")]
    assert.deepStrictEqual(yield* answers(4, ...sent), ["<>", "<>", "<>", "<y>"])
  }),
)

it.scopedLive("a long unread body does not block the next request on the connection", () =>
  Effect.gen(function* () {
    const sent = [post("/", "x".repeat(1024 * 1024)), post("/body", "y")]
    assert.deepStrictEqual(yield* answers(2, ...sent), ["<>", "<y>"])
  }),
)
