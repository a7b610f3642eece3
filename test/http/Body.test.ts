import { createServer } from "node:http"
import { setImmediate } from "node:timers"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { AccountId } from "../../src/Account.ts"
import * as Body from "../../src/http/Body.ts"
import { Request } from "../../src/http/Request.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import * as RawHttp from "../../scripts/support/RawHttp.ts"

const body = JSON.stringify({ urls: ["example.com"] })
const head = [
  "POST / HTTP/1.1",
  "host: localhost",
  "connection: close",
  "content-type: application/json",
  `content-length: ${body.length}`,
  "\r\n",
].join("\r\n")

/** Answers with the decoded body if it can be read in the turn after the headers. */
const server = Effect.suspend(() =>
  RawHttp.listen(
    createServer({ IncomingMessage: Request }, (request, response) =>
      setImmediate(() => {
        const exit = Effect.runSyncExit(Body.batch.whole(request, AccountId.make("one")))
        response.end(Exit.isSuccess(exit) ? exit.value.urls.join() : "not yet")
      }),
    ),
  ),
)

it.live("a body that arrives together with its headers is decoded without waiting", () =>
  Effect.gen(function* () {
    const answer = yield* RawHttp.exchange(yield* server, head + body)
    assert.match(answer, /\r\n\r\nexample\.com$/)
  }).pipe(Effect.scoped),
)

it.live("a body that has not fully arrived is not decoded yet", () =>
  Effect.gen(function* () {
    const connection = yield* RawHttp.connect(yield* server)
    connection.send(head + body.slice(0, -1))
    yield* eventually("the answer", () => connection.received().endsWith("not yet"))
  }).pipe(Effect.scoped),
)
