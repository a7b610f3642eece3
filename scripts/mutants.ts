/**
 * Checks that the simulator finds bugs. Plants one known bug at a time in a copy of the sources,
 * with a patch, and runs the simulator there. Fails when a bug is not found within `--seeds` seeds.
 * `--only` uses only the patches whose names begin with the given text.
 *
 *     npm run mutants [-- --seeds 500] [-- --only 03]
 */
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"

const root = join(import.meta.dirname, "..")
const patches = join(root, "test/simulation/mutants")

/**
 * The files and folders that `plant` copies for each bug. The simulator and the type check run in
 * the copy, and need only these and `node_modules`.
 */
const copied = ["src", "test/simulation", "package.json", "tsconfig.json"]

interface Run {
  readonly status: number | null
  readonly output: string
}

const run = (cwd: string, command: string, ...args: ReadonlyArray<string>): Run => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (error !== undefined) throw error
  return { status, output: `${stdout}${stderr}` }
}

/** Copies the sources, applies the patch and type-checks the result. Returns the copy's folder. */
const plant = (patch: string): string => {
  const copy = mkdtempSync(join(tmpdir(), "authority-mutant-"))
  for (const path of copied) cpSync(join(root, path), join(copy, path), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  const applied = run(copy, "git", "apply", join(patches, patch))
  if (applied.status !== 0) throw new Error(`${patch} does not apply:\n${applied.output}`)
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const checked = run(copy, process.execPath, tsc, "--noEmit")
  if (checked.status !== 0) throw new Error(`${patch} does not type-check:\n${checked.output}`)
  return copy
}

/**
 * Runs the simulator in a copy of the sources. Returns the first seed that fails and its problem,
 * or undefined when no seed fails.
 */
const find = (copy: string, seeds: string) => {
  const simulator = join(copy, "test/simulation/runSeeds.ts")
  const { output, status } = run(copy, process.execPath, simulator, "--seeds", seeds, "--terse")
  const found = /^SEED=(\d+): (.*)$/m.exec(output)
  if (status !== 0 && found === null)
    throw new Error(`the simulator failed without naming a seed:\n${output}`)
  return found === null ? undefined : { seed: Number(found[1]), problem: found[2] }
}

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "500" },
    only: { type: "string", default: "" },
  },
})

const names = readdirSync(patches).filter((name) => name.startsWith(values.only))
let missed = 0
for (const name of names) {
  const copy = plant(name)
  try {
    const startedAt = performance.now()
    const found = find(copy, values.seeds)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    if (found === undefined) missed++
    const result =
      found === undefined
        ? `MISSED in ${values.seeds} seeds`
        : `found in seed ${found.seed}: ${found.problem}`
    console.log(`${name.replace(".patch", "")}: ${result} (${seconds} s)`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
console.log(`found ${names.length - missed} of ${names.length} planted bugs`)
process.exitCode = missed === 0 ? 0 : 1
