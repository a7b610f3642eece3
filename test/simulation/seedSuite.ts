/**
 * Tests of the service in the simulated world. Two files call it, so that they run side by side.
 */
import { setImmediate } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { simulate } from "./Simulation.ts"
import * as Template from "./Template.ts"

/**
 * Declares a test for each number in `firsts`. A test runs 25 seeds, beginning with that number.
 */
export const testSeeds = (firsts: ReadonlyArray<number>) => {
  describe("the service in a simulated world", () => {
    let template: Template.Template
    beforeAll(async () => {
      template = await Template.make()
    })
    afterAll(() => template.close())

    it.each(firsts)(
      "the service keeps its guarantees under random faults and interleaved transactions, 25 seeds from %i",
      async (first) => {
        let interleaved = 0
        for (let seed = first; seed < first + 25; seed++) {
          const { counts, problems } = simulate(template, seed)
          // `simulate` blocks the event loop, which Vitest needs to report the progress.
          await setImmediate()
          assert.deepStrictEqual(problems, [], `SEED=${seed} npm run simulate`)
          interleaved += counts.get("interleaved transactions") ?? 0
        }
        assert.isAtLeast(interleaved, 50)
      },
    )
  })
}
