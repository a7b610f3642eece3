/** Tests the console's store of answers in a real browser. */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { build } from "esbuild"
import { isMissing, visit } from "../support/Browser.ts"
import { timeout } from "../support/ConsolePage.ts"
import { shared } from "../support/TestServer.ts"
import { answersSuite } from "../lists/answersSuite.ts"

const server = shared()

/** A script that makes the suite and the store global. */
const bundle = Effect.runSync(
  Effect.cached(
    Effect.promise(async () => {
      const contents = `
        import { answersSuite } from "../lists/answersSuite.ts"
        import { open } from "../../src/pages/answers/IndexedAnswers.ts"
        globalThis.test = (name, database) => answersSuite[name](() => open(database))`
      const stdin = { contents, resolveDir: import.meta.dirname }
      const { outputFiles } = await build({ stdin, bundle: true, format: "iife", write: false })
      return outputFiles.map(({ text }) => text).join()
    }),
  ),
)

describe.skipIf(isMissing)("the store of answers in a browser", () => {
  it.scopedLive.each(Object.keys(answersSuite))(
    "%s",
    (name) =>
      Effect.gen(function* () {
        const { url } = yield* server
        const { act } = yield* visit(url, "/console")
        const script = yield* bundle
        yield* act((page) => page.evaluate(script))
        yield* act((page) => page.evaluate(`test(${JSON.stringify(name)}, "test")`))
      }),
    timeout,
  )
})
