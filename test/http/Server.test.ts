/** What happens to a request, and to a stop, while the interface is still being made. */
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { CannotListen, Listener } from "../../src/http/NodeServer.ts"
import type { Router } from "../../src/http/Router.ts"
import * as Server from "../../src/http/Server.ts"
import * as MemoryHealth from "../../src/memory/Health.ts"
import * as Sandbox from "../../src/providers/Sandbox.ts"
import { listen, request } from "../support/Wire.ts"

const answering: Router = (_, response) => void response.end("made")

/** A server whose router is made as the effect says, and what came to pass, in order. */
const listening = <E>(
  router: (events: Array<string>) => Effect.Effect<Router, E, Scope.Scope>,
  port = 0,
) =>
  Effect.gen(function* () {
    const events: Array<string> = []
    const scope = yield* Scope.make()
    const database = Effect.acquireRelease(Effect.void, () =>
      Effect.sync(() => events.push("the database closes")),
    )
    const context = yield* Server.layer(
      { host: "127.0.0.1", port, corsOrigins: [], maxConnections: 10, shutdownTimeout: "1 second" },
      router(events),
    ).pipe(
      Layer.provide([MemoryHealth.layer, Sandbox.layer]),
      Layer.provide(Layer.scopedDiscard(database)),
      Layer.buildWithScope(scope),
    )
    const { url } = Context.get(context, Listener).address()
    const stop = Scope.close(scope, Exit.void)
    yield* Effect.addFinalizer(() => stop)
    return { events, stop, send: (path: string) => request(url, { path }) }
  })

/** Acquires what the interface needs, and goes on when it is told to. */
const slow = (goOn: Deferred.Deferred<void>) => (events: Array<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => events.push("begun")),
    () => Effect.sync(() => events.push("released")),
  ).pipe(
    Effect.zipRight(Deferred.await(goOn)),
    Effect.as(answering),
    Effect.onInterrupt(() => Effect.sync(() => events.push("interrupted"))),
  )

describe("an interface that is still being made", () => {
  it.scopedLive(
    "is made once; who asks meanwhile waits, but for whether the service is ready",
    () =>
      Effect.gen(function* () {
        const goOn = yield* Deferred.make<void>()
        const { events, send } = yield* listening(slow(goOn))
        const asked = yield* Effect.fork(
          Effect.all([send("/a"), send("/b"), send("/c")], { concurrency: "unbounded" }),
        )
        yield* Effect.sleep("100 millis")
        assert.strictEqual((yield* send("/health/ready")).status, 200)
        assert(Option.isNone(yield* Fiber.poll(asked)))
        yield* Deferred.succeed(goOn, undefined)
        const answers = yield* Fiber.join(asked)
        assert.deepStrictEqual(
          answers.map(({ text }) => text),
          ["made", "made", "made"],
        )
        assert.strictEqual((yield* send("/d")).text, "made")
        assert.deepStrictEqual(events, ["begun"])
      }),
  )

  it.scopedLive("is made also when nobody asks", () =>
    Effect.gen(function* () {
      const made = yield* Deferred.make<void>()
      yield* listening(() => Effect.as(Deferred.succeed(made, undefined), answering))
      yield* Deferred.await(made)
    }),
  )

  it.scopedLive("outlives whoever asked first", () =>
    Effect.gen(function* () {
      const goOn = yield* Deferred.make<void>()
      const { events, send } = yield* listening(slow(goOn))
      const gone = yield* Effect.fork(send("/a"))
      yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(gone)
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* send("/b")).text, "made")
      assert.deepStrictEqual(events, ["begun"])
    }),
  )

  it.scopedLive("is answered for with a 500 where it cannot be made", () =>
    Effect.gen(function* () {
      const { send } = yield* listening(() => Effect.fail("no interface"))
      for (const path of ["/a", "/b"]) {
        const { headers, status, text } = yield* send(path)
        assert.strictEqual(status, 500)
        assert.deepStrictEqual(JSON.parse(text), {
          success: false,
          message: "Internal server error.",
        })
        assert.match(String(headers["x-request-id"]), /^[0-9a-f-]{36}$/)
      }
      assert.strictEqual((yield* send("/health/ready")).status, 200)
    }),
  )

  it.scopedLive("is given up when the service stops, before what it needs is", () =>
    Effect.gen(function* () {
      const { events, send, stop } = yield* listening(slow(yield* Deferred.make<void>()))
      const gone = yield* Effect.fork(send("/a"))
      yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(gone)
      yield* stop
      assert.deepStrictEqual(events, ["begun", "interrupted", "released", "the database closes"])
    }),
  )

  it.scopedLive("keeps what it needs until the last request is answered", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      const { events, send, stop } = yield* listening((events) =>
        Effect.map(
          Effect.acquireRelease(Effect.void, () => Effect.sync(() => events.push("released"))),
          (): Router => (_, response) => {
            Effect.runFork(
              Effect.map(Deferred.await(answer), () => {
                events.push("answered")
                response.end("made")
              }),
            )
          },
        ),
      )
      const asked = yield* Effect.fork(send("/a"))
      yield* Effect.sleep("100 millis")
      const stopping = yield* Effect.fork(stop)
      yield* Effect.sleep("100 millis")
      yield* Deferred.succeed(answer, undefined)
      assert.strictEqual((yield* Fiber.join(asked)).text, "made")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(events, ["answered", "released", "the database closes"])
    }),
  )

  it.scopedLive("is not made at all where the port is taken", () =>
    Effect.gen(function* () {
      const { port } = new URL(yield* listen(createServer()))
      let isMade = false
      const error = yield* Effect.flip(
        listening(
          () =>
            Effect.sync(() => {
              isMade = true
              return answering
            }),
          Number(port),
        ),
      )
      assert.instanceOf(error, CannotListen)
      yield* Effect.sleep("50 millis")
      assert.isFalse(isMade)
    }),
  )
})
