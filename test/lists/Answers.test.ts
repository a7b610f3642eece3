import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { memoryAnswers } from "../../src/lists/Answers.ts"
import * as SqlAnswers from "../../src/lists/SqlAnswers.ts"
import { folder } from "../support/Program.ts"
import { answersSuite } from "./answersSuite.ts"

describe.each(Object.entries(answersSuite))("a store of answers %s", (_, test) => {
  it("in memory", async () => {
    const store = memoryAnswers()
    await test(async () => store)
  })

  it.scopedLive("in SQLite", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "answers.db")
      const scope = yield* Effect.scope
      const open = () =>
        Effect.runPromise(Effect.provideService(SqlAnswers.open(filename), Scope.Scope, scope))
      yield* Effect.promise(() => test(open))
    }),
  )
})

describe("the file in which answers are kept", () => {
  it.scopedLive("the file of answers can be read only by its user", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "answers.db")
      yield* SqlAnswers.open(filename)
      assert.strictEqual(statSync(filename).mode & 0o777, 0o600)
    }),
  )

  it.scopedLive("a file that is not a file of answers is refused with a clear message", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "answers.db")
      writeFileSync(filename, "no database".repeat(100))
      const { message } = yield* Effect.flip(SqlAnswers.open(filename))
      assert.include(message, "the file is damaged, or has no answers; move it away")
    }),
  )
})
