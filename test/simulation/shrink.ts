/** Makes a failing seed easier to read: leaves out requests while the seed still fails. */
import { type Result, simulate } from "./Simulation.ts"
import type { Template } from "./Template.ts"

/** The most runs that `shrink` may take. */
const maxRuns = 150

/**
 * Returns the recorded run with the fewest requests that still fails, though it may fail
 * differently.
 */
export const shrink = (template: Template, failed: Result): Result => {
  let runs = 0
  const fails = (requests: ReadonlyArray<number>) => {
    runs++
    return simulate(template, failed.seed, { only: new Set(requests) }).problems.length > 0
  }
  let kept = failed.requests
  // Leaves out halves first, then smaller parts, then single requests.
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < kept.length && runs < maxRuns;) {
      const rest = [...kept.slice(0, start), ...kept.slice(start + size)]
      if (fails(rest)) kept = rest
      else start += size
    }
  }
  return simulate(template, failed.seed, { only: new Set(kept), record: true })
}
