/**
 * The whole service in the simulated world. `npm run simulate` runs more seeds, and
 * `npm run mutants` shows that the simulation finds bugs.
 */
import { execFile, execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { simulate } from "./Simulation.ts"
import * as Template from "./Template.ts"

describe("the service in a simulated world", () => {
  let template: Template.Template
  beforeAll(async () => {
    template = await Template.make()
  })
  afterAll(() => template.close())

  // Eight tests of 25 seeds each, so that each ends within its time limit on a slow machine.
  it.each([1, 26, 51, 76, 101, 126, 151, 176])(
    "the service keeps its promises in 25 seeds of bad luck, with interleaved transactions, from seed %i",
    async (first) => {
      for (let seed = first; seed < first + 25; seed++) {
        const { counts, problems } = simulate(template, seed)
        // `simulate` blocks the event loop, which Vitest needs to report the progress.
        await setImmediate()
        assert.deepStrictEqual(problems, [], `SEED=${seed} npm run simulate`)
        assert.isAtLeast(counts.get("interleaved transactions") ?? 0, 2, `seed ${seed}`)
      }
    },
  )

  it("every planted bug's patch still applies to the sources", () => {
    const mutants = join(import.meta.dirname, "mutants")
    const patches = readdirSync(mutants).map((name) => join(mutants, name))
    assert.lengthOf(patches, 10)
    const cwd = join(import.meta.dirname, "../..")
    for (const patch of patches) execFileSync("git", ["apply", "--check", patch], { cwd })
  })

  it("equal seeds give equal traces, recorded or not, also in another process", async () => {
    const traces = [11, 12, 13].map((seed) => simulate(template, seed).trace)
    const recorded = [11, 12, 13].map((seed) => simulate(template, seed, { record: true }).trace)
    assert.deepStrictEqual(recorded, traces)
    const program = join(import.meta.dirname, "simulate.ts")
    for (const [i, trace] of traces.entries()) {
      const env = { ...process.env, SEED: `${11 + i}` }
      const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
      assert.include(stdout, `trace ${trace}\n`)
    }
  })
})
