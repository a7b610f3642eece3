import { createServer } from "node:http"
import { setImmediate } from "node:timers"
import { text } from "node:stream/consumers"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Request } from "../../src/http/Request.ts"
import * as Wire from "../../scripts/support/Wire.ts"

/**
 * Answers what the body is: at `/body` as it is at hand in the next turn, at `/stream` as a stream has
 * it then, at `/late` as one has it long after it is there, and else nothing.
 */
const server = Effect.suspend(() =>
  Wire.listen(
    createServer({ IncomingMessage: Request }, (request, response) => {
      const asStream = () => text(request).then((all) => response.end(`<${all}>`))
      setImmediate(() => {
        if (request.url === "/body") response.end(`<${request.body?.toString() ?? "not there"}>`)
        else if (request.url === "/stream") asStream()
        else if (request.url === "/late") setTimeout(asStream, 50)
        else response.end("<>")
      })
    }),
  ),
)

const post = (path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n${body}`

/** What is answered to what is sent on one connection, piece by piece. */
const answers = (count: number, ...pieces: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const connection = yield* Wire.connect(yield* server)
    const given = () => [...connection.received().matchAll(/<[^>]*>/g)].map(([answer]) => answer)
    for (const piece of pieces) {
      connection.send(piece)
      yield* Effect.sleep("20 millis")
    }
    yield* Wire.eventually("all answers", () => given().length === count)
    return given()
  })

it.scopedLive("a body in one piece is at hand, and also a stream, soon or late", () =>
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

it.scopedLive("one in several pieces is a stream, from the first one on", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* answers(1, post("/stream", "a", 3), "b", "c"), ["<abc>"])
    assert.deepStrictEqual(yield* answers(1, post("/late", "a", 3), "b", "c"), ["<abc>"])
    assert.deepStrictEqual(yield* answers(1, post("/late", "", 2), "b", "c"), ["<bc>"])
  }),
)

it.scopedLive("one without a length is a stream, even where its end came along", () =>
  Effect.gen(function* () {
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`
    const chunks = "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"
    assert.deepStrictEqual(yield* answers(1, head("/stream") + chunks), ["<abc>"])
    assert.deepStrictEqual(yield* answers(1, head("/late") + chunks), ["<abc>"])
    assert.deepStrictEqual(yield* answers(1, head("/body") + chunks), ["<not there>"])
  }),
)

it.scopedLive("what nobody reads does not stand in the way of what follows", () =>
  Effect.gen(function* () {
    const sent = [post("/", "x"), post("/", ""), post("/", "x") + post("/body", "y")]
    assert.deepStrictEqual(yield* answers(4, ...sent), ["<>", "<>", "<>", "<y>"])
  }),
)

it.scopedLive("requests go on after a body that nobody read, however long it was", () =>
  Effect.gen(function* () {
    const sent = [post("/", "x".repeat(1024 * 1024)), post("/body", "y")]
    assert.deepStrictEqual(yield* answers(2, ...sent), ["<>", "<y>"])
  }),
)
