/** A few rounds of what `scripts/crash.ts` does two hundred times. */
import { assert, describe, it } from "@effect/vitest"
import { crash } from "../../scripts/crash.ts"
import { bundle } from "../support/Program.ts"

describe("kill -9 under load, again and again, loses nothing", () => {
  for (const database of ["sqlite", "postgres"] as const) {
    it.concurrent(`on ${database}`, { timeout: 120_000 }, async () => {
      const { atOnce, inTwoSteps, kills } = await crash({
        rounds: 3,
        database,
        endLeases: true,
        program: bundle,
      })
      assert.isAtLeast(kills, 3)
      assert.isAbove(atOnce, 0)
      assert.isAbove(inTwoSteps, 0)
    })
  }
})
