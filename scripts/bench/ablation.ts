/**
 * Measures the gain of each trick, which is an optimisation in `tricks.ts`. Builds the program with
 * all tricks, and once for each trick without that trick. Prints a Markdown table: the CPU time, the
 * memory and the start time without each trick, divided by those of the program with all tricks.
 * README.md beside this file explains the table. Needs Linux and wrk.
 *
 *     npm run bench:ablation -- [OPTION]…
 *
 *     --only TRICK       measure only this trick; may be given several times
 *     --list             print the names of the tricks
 *     --rounds N         rounds of each workload (default: 9)
 *     --seconds N        seconds of load on each build in each round (default: 1)
 *     --warm-up N        seconds of load on each build before a workload's first round (default: 4)
 *     --rss-seconds N    seconds of load while memory is measured (default: 15; 0: do not measure)
 *     --starts N         how often the start of each build is measured (default: 11; 0: never)
 */
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeExecutable } from "../build-binary.ts"
import { bundle, dist } from "../bundle.ts"
import { firstAnswer, kill } from "../support/first-answer.ts"
import { quantile } from "../support/quantile.ts"
import { creditsPath } from "./requests.ts"
import { load, rssUnderLoad, writeRequests } from "./measure.ts"
import { matching } from "./workloads.ts"
import {
  learn,
  newFolder,
  openAccounts,
  script,
  serve,
  type Server,
  settingsOf,
  start,
  stopAll,
  subfolder,
} from "./servers.ts"
import { pluginsOf, type Trick, tricks, workloads } from "./tricks.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "1" },
    "warm-up": { type: "string", default: "4" },
    "rss-seconds": { type: "string", default: "15" },
    starts: { type: "string", default: "11" },
  },
})
if (values.list) {
  for (const { name } of tricks) console.log(name)
  process.exit()
}
for (const name of values.only) {
  assert(
    tricks.some((trick) => trick.name === name),
    `there is no trick "${name}"; --list prints their names`,
  )
}
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const warmUpSeconds = Number(values["warm-up"])
const rssSeconds = Number(values["rss-seconds"])
const starts = Number(values.starts)

/**
 * A build of the program with all optimisations of `tricks.ts`, or with all but one. `trick` is the
 * optimisation that is left out; undefined for the build with all.
 */
interface Build {
  readonly name: string
  readonly trick: Trick | undefined
  readonly folder: string
  readonly script: string
  readonly executable: string
}

const bench = newFolder()
const folderOf = (...names: ReadonlyArray<string>) => subfolder(bench, names.join(", "))

const make = async (name: string, trick: Trick | undefined): Promise<Build> => {
  console.error(`building: ${name}`)
  const folder = folderOf(name)
  const built = { script: join(folder, "authority.cjs"), executable: join(folder, "authority") }
  const plugins = trick === undefined ? [] : pluginsOf(trick)
  const without = trick?.step === undefined ? [] : [trick.step]
  await bundle({
    outfile: built.script,
    addon: `${process.platform}-${process.arch}`,
    without,
    rest: { loader: { ".node": "copy" }, assetNames: "[name]", plugins: [...plugins] },
  })
  if (starts !== 0) await makeExecutable(built.executable, { without, plugins })
  return { name, trick, folder, ...built }
}

const chosen = tricks.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
const whole = await make("whole", undefined)
/**
 * The build `whole` (with all optimisations), measured a second time. The table shows the ratios of
 * the second measurement to the first: the further a ratio is from 1, the more noise there is.
 */
const wholeAgain: Build = { ...whole, name: "(nothing)" }
const builds = [whole, wholeAgain]
for (const trick of chosen) builds.push(await make(trick.name, trick))

const accounts = folderOf("accounts")
const keys = openAccounts(accounts, whole.script, {})

interface Figures {
  readonly cpuUs: number
  readonly rssMb: number
}

/**
 * Measures the CPU time per request and the memory of each build. Of a build's CPU times, returns
 * the lower quartile and not the median, because noise can only make a round's CPU time longer.
 */
const measure = async (
  row: string,
  builds: ReadonlyArray<Build>,
): Promise<ReadonlyMap<Build, Figures>> => {
  const group = matching(/(?:)/).find(({ rows }) => rows.some(({ name }) => name === row))
  const requests = group?.rows.find(({ name }) => name === row)?.requests
  assert(group !== undefined && requests !== undefined)
  const folder = folderOf(row)
  const file = join(folder, "requests.txt")
  writeRequests(file, requests)
  const helpers = {
    vendor: await start("the vendor", folder, [script("vendor.ts")]),
    sink: await start("the OTLP receiver", folder, [script("sink.ts")]),
  }
  const startBuild = async ({ name, script: program, trick }: Build) => {
    const cwd = subfolder(folder, name)
    cpSync(accounts, cwd, { recursive: true })
    const settings = { ...settingsOf(group, helpers), ...trick?.settings }
    const server: Server = { ...(await serve({ name, cwd, program, settings })), keys }
    if (group.source === "known") await learn(server)
    await load(server, { file, seconds: warmUpSeconds })
    return server
  }
  try {
    const contenders: Array<readonly [Build, Server, Array<number>]> = []
    for (const build of builds) contenders.push([build, await startBuild(build), []])
    for (let round = 0; round < rounds; round++) {
      console.error(`${row}: round ${round + 1} of ${rounds}`)
      for (const [, server, cpuUs] of round % 2 === 0 ? contenders : contenders.toReversed()) {
        cpuUs.push((await load(server, { file, seconds })).cpuUs)
      }
    }
    const figures = new Map<Build, Figures>()
    for (const [build, server, cpuUs] of contenders) {
      const options = { file, seconds: rssSeconds }
      const rssMb =
        rssSeconds === 0 ? Number.NaN : (await rssUnderLoad(server, options, rssSeconds / 2)).rssMb
      figures.set(build, { cpuUs: quantile(cpuUs, 0.25), rssMb })
    }
    return figures
  } finally {
    await stopAll()
    rmSync(folder, { recursive: true })
  }
}

/**
 * Measures for each executable the milliseconds from its start to its first answer from the
 * database.
 */
const measureStarts = async (): Promise<ReadonlyMap<Build, number>> => {
  const times = new Map(builds.map((build) => [build, Array<number>()]))
  for (let turn = 0; turn < starts; turn++) {
    for (const [{ executable }, elapsed] of times) {
      const run = (port: number) =>
        spawn(executable, ["serve"], {
          cwd: accounts,
          env: { AUTHORITY_PORT: String(port) },
          stdio: "ignore",
        })
      const first = await firstAnswer(run, { path: creditsPath, apiKey: keys[0] ?? "" })
      await kill(first.child)
      assert.equal(first.status, 200)
      elapsed.push(first.elapsedMs)
    }
  }
  return new Map([...times].map(([build, elapsed]) => [build, quantile(elapsed, 0.25)]))
}

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
const ratio = (value = Number.NaN, other = Number.NaN) =>
  Number.isNaN(value / other) ? "–" : (value / other).toFixed(2)

const columns: Array<(build: Build) => string> = []
const heads: Array<string> = []
for (const [key, row] of Object.entries(workloads)) {
  const concerned = builds.filter(
    ({ trick }) => trick === undefined || trick.workloads.some((_) => _ === key),
  )
  if (rounds === 0 || concerned.length === 2) continue
  const figures = await measure(row, concerned)
  const base = figures.get(whole)
  heads.push(row)
  columns.push((build) => {
    const own = figures.get(build)
    if (own === undefined || base === undefined) return ""
    return build === whole
      ? `${own.cpuUs.toFixed(0)} µs, ${own.rssMb.toFixed(0)} MB`
      : `${ratio(own.cpuUs, base.cpuUs)}, ${ratio(own.rssMb, base.rssMb)}`
  })
}
if (starts > 0) {
  const times = await measureStarts()
  heads.push("start")
  columns.push((build) =>
    build === whole
      ? `${times.get(whole)?.toFixed(0)} ms`
      : ratio(times.get(build), times.get(whole)),
  )
}

const describe = ["describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
const commit = execFileSync("git", describe, { cwd: dist, encoding: "utf8" }).trim()
console.log(
  [
    `${new Date().toISOString().slice(0, 10)}, commit ${commit}, Node ${process.version}; CPU and RSS without each trick as ratios to the whole program.`,
    "",
    line(["without", ...heads]),
    line(["---", ...heads.map(() => "---:")]),
    ...builds.map((build) => line([build.name, ...columns.map((column) => column(build))])),
  ].join("\n"),
)
