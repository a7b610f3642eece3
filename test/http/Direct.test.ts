import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Fiberless from "../../src/Fiberless.ts"
import type { Answer } from "../../src/http/Answer.ts"
import * as Direct from "../../src/http/Direct.ts"
import * as Meters from "../../src/http/Meters.ts"
import * as Wire from "../support/Wire.ts"

const impossible: Answer = {
  status: 200,
  headers: {},
  get body(): string {
    throw new Error("no body")
  },
}
const answer: Answer = { status: 200, headers: {}, body: "{}" }

/** A server that calls all requests back in one go, once there are two of them. */
const start = Effect.gen(function* () {
  const log: Array<string> = []
  const waiting: Array<() => void> = []
  const answerTo = ({ url }: IncomingMessage) => (url === "/impossible" ? impossible : answer)
  const give = yield* Direct.make.pipe(
    Effect.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.map(Logger.jsonLogger, (line) => void log.push(line)),
      ),
    ),
  )
  const endpoint = {
    start: Meters.make("GET", "/"),
    handler: (request: IncomingMessage) =>
      Fiberless.async<Answer>((resume) => {
        waiting.push(() => resume(Effect.succeed(answerTo(request))))
        if (waiting.length === 2) waiting.forEach((call) => call())
      }),
  }
  const url = yield* Wire.listen(
    createServer((request: IncomingMessage, response: ServerResponse) =>
      give(endpoint, request, response),
    ),
  )
  return { url, log }
})

it.scopedLive("an answer that cannot be written ends its connection, and nobody else's", () =>
  Effect.gen(function* () {
    const { log, url } = yield* start
    const [broken, whole] = yield* Effect.all(
      [
        Effect.either(Wire.request(url, { path: "/impossible" })),
        Effect.delay(Wire.request(url, { path: "/" }), "50 millis"),
      ],
      { concurrency: 2 },
    )
    assert.strictEqual(broken._tag, "Left")
    assert.strictEqual(whole.text, "{}")
    yield* Wire.eventually("a line in the log", () => log.length > 0)
    assert.match(log.join(), /The request broke\..*no body/s)
  }),
)
