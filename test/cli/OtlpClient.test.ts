import * as HttpClient from "@effect/platform/HttpClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { bounded } from "../../src/cli/OtlpClient.ts"

it.effect(
  "with a receiver that never answers, four exports wait for 5 s, and others are dropped",
  () =>
    Effect.gen(function* () {
      let started = 0
      const client = bounded(
        HttpClient.make(() => {
          started += 1
          return Effect.never
        }),
      )
      const post = client.post("http://127.0.0.1:4318/v1/traces")
      const waiting = yield* Effect.replicateEffect(Effect.fork(Effect.exit(post)), 4)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Effect.exit(post))._tag, "Failure")
      assert.strictEqual(started, 4)
      yield* TestClock.adjust("5 seconds")
      const ended = yield* Fiber.join(Fiber.all(waiting))
      assert.deepStrictEqual(
        ended.map(({ _tag }) => _tag),
        ["Failure", "Failure", "Failure", "Failure"],
      )
      yield* Effect.fork(post)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(started, 5)
    }),
)
