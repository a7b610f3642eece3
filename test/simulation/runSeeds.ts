/**
 * Runs the simulation.
 *
 *     npm run simulate -- --seconds 60     as many seeds as fit into a minute
 *     npm run simulate -- --seeds 10000    a number of seeds
 *     SEED=42 npm run simulate             one seed, with everything that happens in it
 *
 * `--from N` is the first seed (default: 1). Stops at the first seed that fails, and prints its
 * trace with the fewest requests that still fail. `--terse` prints only the seed and the problem.
 */
import { setImmediate } from "node:timers/promises"
import { parseArgs } from "node:util"
import { kinds } from "./Faults.ts"
import { type Result, simulate } from "./Simulation.ts"
import { shrink } from "./shrink.ts"
import * as Template from "./Template.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    terse: { type: "boolean", default: false },
  },
})

const template = await Template.make()

const printFailure = (failed: Result) => {
  console.log(`SEED=${failed.seed}: ${failed.problems[0]?.split("\n")[0]}`)
  if (values.terse) return
  const shrunk = shrink(template, failed)
  console.log(shrunk.notes.join("\n"))
  console.log(
    `\nSeed ${failed.seed} fails, here with ${shrunk.requests.length} of its ` +
      `${failed.requests.length} requests (${shrunk.requests.join(", ")}):`,
  )
  for (const problem of shrunk.problems) console.log(`- ${problem}`)
  console.log(`To see all of it: SEED=${failed.seed} npm run simulate`)
}

const one = (seed: number) => {
  const { notes, problems, simulatedMs, steps, trace } = simulate(template, seed, { record: true })
  console.log(notes.join("\n"))
  console.log(`\n${steps} steps, ${simulatedMs / 1000} simulated seconds, trace ${trace}`)
  for (const problem of problems) console.log(`- ${problem}`)
  return problems.length === 0
}

const many = async () => {
  const first = Number(values.from)
  const last = values.seeds === undefined ? Infinity : first + Number(values.seeds) - 1
  const seconds = Number(values.seconds ?? (values.seeds === undefined ? 60 : Infinity))
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1000
  const counts = new Map<string, number>()
  let [seeds, steps, simulatedMs] = [0, 0, 0]
  for (let seed = first; seed <= last && elapsed() < seconds; seed++) {
    const result = simulate(template, seed)
    // V8 frees what a WeakRef refers to only between two turns of the event loop.
    await setImmediate()
    seeds++
    steps += result.steps
    simulatedMs += result.simulatedMs
    for (const [event, count] of result.counts) counts.set(event, (counts.get(event) ?? 0) + count)
    if (result.problems.length > 0) {
      printFailure(result)
      return false
    }
  }
  if (values.terse) return true
  const { system, user } = process.cpuUsage()
  console.log(
    `${seeds} seeds in ${elapsed().toFixed(1)} s (${((system + user) / 1e6).toFixed(1)} s of ` +
      `processor time): ${steps} steps, ${(simulatedMs / 3_600_000).toFixed(1)} simulated hours`,
  )
  const isFault = new Set(kinds)
  const other = [...counts.keys()].filter((event) => !isFault.has(event)).toSorted()
  for (const event of [...other, ...kinds]) {
    console.log(`${String(counts.get(event) ?? 0).padStart(9)}  ${event}`)
  }
  console.log("Nothing is wrong.")
  return true
}

const seed = process.env["SEED"]
const isWell = seed === undefined ? await many() : one(Number(seed))
template.close()
process.exitCode = isWell ? 0 : 1
