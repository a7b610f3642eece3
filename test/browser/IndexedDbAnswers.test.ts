/** Tests the console's store of answers in a real browser. */
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { build } from "esbuild"
import { browserTest, isMissing, visit } from "../support/Browser.ts"
import { shared } from "../support/TestServer.ts"
import { answersSuite } from "../lists/answersSuite.ts"

const server = shared()

/** A script that makes the suite and the store available as globals of the page. */
const bundle = Effect.runSync(
  Effect.cached(
    Effect.promise(async () => {
      const contents = `
        import { answersSuite } from "../lists/answersSuite.ts"
        import { open } from "../../src/pages/answers/IndexedDbAnswers.ts"
        globalThis.test = (name, database) => answersSuite[name](() => open(database))`
      const stdin = { contents, resolveDir: import.meta.dirname }
      const { outputFiles } = await build({ stdin, bundle: true, format: "iife", write: false })
      return outputFiles.map(({ text }) => text).join()
    }),
  ),
)

describe.skipIf(isMissing)("the store of answers in a browser", () => {
  for (const name of Object.keys(answersSuite))
    browserTest(name, async (run) => {
      const { url } = await run(server)
      const { page } = await run(visit(url, "/console"))
      await page.evaluate(await run(bundle))
      await page.evaluate(`test(${JSON.stringify(name)}, "test")`)
    })
})
