/**
 * Tests the whole service in the simulated world. `npm run simulate` runs more seeds, and `npm run
 * mutants` shows that the simulation finds bugs.
 */
import { execFile, execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { simulate } from "./Simulation.ts"
import * as Template from "./Template.ts"

describe("the simulation", () => {
  let template: Template.Template
  beforeAll(async () => {
    template = await Template.make()
  })
  afterAll(() => template.close())

  it.each([1, 26, 51, 76, 101, 126, 151, 176])(
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

  it.each([8203])(
    "the service keeps its guarantees in the simulation with seed %i, which once found a bug that is now fixed",
    (seed) => assert.deepStrictEqual(simulate(template, seed).problems, []),
  )

  it("the books add up and no request fails when the store fails one in ten statements and COMMITs with error 40001", async () => {
    let [atStatements, atCommits] = [0, 0]
    for (let seed = 301; seed <= 340; seed++) {
      const { counts, problems } = simulate(template, seed, { conflicts: true })
      await setImmediate()
      assert.deepStrictEqual(problems, [], `seed ${seed}`)
      atStatements += counts.get("store: conflict at a statement") ?? 0
      atCommits += counts.get("store: conflict at COMMIT") ?? 0
    }
    assert.isAtLeast(atStatements, 300)
    assert.isAtLeast(atCommits, 40)
  })

  it("every patch that plants a bug on purpose applies to the current sources", () => {
    const mutants = join(import.meta.dirname, "mutants")
    const patches = readdirSync(mutants).map((name) => join(mutants, name))
    assert.isAtLeast(patches.length, 23)
    const cwd = join(import.meta.dirname, "../..")
    for (const patch of patches) execFileSync("git", ["apply", "--check", patch], { cwd })
  })

  it("the simulation computes the same trace hash for the same seed in every process, whether or not the simulation keeps the traced events as text", async () => {
    const traces = [11, 12].map((seed) => simulate(template, seed).trace)
    const recorded = [11, 12].map((seed) => simulate(template, seed, { record: true }).trace)
    assert.deepStrictEqual(recorded, traces)
    const program = join(import.meta.dirname, "runSeeds.ts")
    const env = { ...process.env, SEED: "11" }
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
    assert.include(stdout, `trace ${traces[0]}\n`)
  })
})
