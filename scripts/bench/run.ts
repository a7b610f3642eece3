/**
 * Compares the speed of the built service with the server in `peer.ts` and prints a Markdown table.
 * Each row of the table measures one kind of request, and shows the ratio of the two servers'
 * requests per second. README.md beside this file explains the table. Needs Linux, wrk and a C
 * compiler.
 *
 *     npm run bench -- [OPTION]…
 *
 *     --rows PATTERN     measure only the rows whose names match (a regular expression)
 *     --list             print the names of the rows
 *     --rounds N         how often each row is measured (default: 3)
 *     --seconds N        seconds of load on each server in each round of a row (default: 4)
 *     --warm-up N        seconds of load on each server before a row's first round (default: 4)
 *     --against FILE     compare with another build's authority.cjs instead of with `peer.ts`
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpus } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { boughtUrls, knownUrls } from "./requests.ts"
import { defaultConnections, load, type Measure, medians, writeRequests } from "./measure.ts"
import { type Group, matching, type Row } from "./workloads.ts"
import {
  assertHonest,
  available,
  built,
  counted,
  dist,
  file,
  learn,
  mozSettings,
  newFolder,
  script,
  type Server,
  start,
  startService,
  stopAll,
  subfolder,
} from "./servers.ts"

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "" },
    list: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    "warm-up": { type: "string", default: "4" },
    against: { type: "string" },
  },
})
const groups = matching(new RegExp(values.rows))
assert(groups.length > 0, `no row matches ${values.rows}; --list prints their names`)
if (values.list) {
  for (const { name } of groups.flatMap(({ rows }) => rows)) console.log(name)
  process.exit()
}
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const warmUpSeconds = Number(values["warm-up"])

const startContenders = async (
  group: Group,
  folder: string,
  vendor: Server,
): Promise<ReadonlyArray<Server>> => {
  const env: Record<string, string> = group.hasSlowDisk === true ? slowDisk : {}
  const service = async (name: string, program: string, isOnPostgres: boolean) => {
    const cwd = subfolder(folder, name)
    const settings = {
      ...(group.source !== "sandbox" && mozSettings(vendor)),
      ...group.settings,
      ...(isOnPostgres && { AUTHORITY_DATABASE_URL: await postgres(cwd) }),
      ...env,
    }
    const server = await startService({ name, cwd, program, settings })
    if (group.source === "known") await learn(server)
    return server
  }
  const isOnPostgres = group.isOnPostgres === true
  const ours = await service("the service", built, isOnPostgres)
  if (values.against !== undefined) {
    return [ours, await service("the other build", resolve(values.against), isOnPostgres)]
  }
  if (isOnPostgres) return [ours, await service("the service on SQLite", built, false)]
  const peer = script("peer.ts", group.source, vendor.url)
  return [ours, await start("the peer", subfolder(folder, "peer"), peer, env)]
}

/** Starts PostgreSQL with its data in a folder. Returns its address. */
const postgres = async (cwd: string) =>
  (await start("PostgreSQL", cwd, script("start-postgres.ts"))).url

/** Returns the environment of a program whose fsyncs take 1 ms longer. */
const slowFsync = (folder: string) => {
  const library = join(folder, "slow-fsync.so")
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, file("slow-fsync.c")])
  return { LD_PRELOAD: library }
}

/**
 * Measures one row of the table on one server. Fails if any URL was not charged, if a server that
 * must buy its figures did not ask the vendor for every URL, or if any other server asked the
 * vendor at all.
 */
const measure = async (
  server: Server,
  { row, file, group }: { row: Row; file: string; group: Group },
  seconds: number,
  vendor: Server,
): Promise<Measure> => {
  const [creditsBefore, askedBefore] = [await available(server), await counted(vendor, "asked")]
  const figures = await load(server, { file, seconds })
  const charged = creditsBefore - (await available(server))
  const asked = (await counted(vendor, "asked")) - askedBefore
  const least = figures.requests * row.urls
  // Requests that are in flight when the load ends are charged, but `load` does not count them.
  const most = least + defaultConnections * row.urls
  assert(
    charged >= least && charged <= most,
    `${server.name}: ${row.name}: charged ${charged} credits for ${least} to ${most} URLs`,
  )
  assert(
    group.source === "bought" ? asked >= least : asked === 0,
    `${server.name}: ${row.name}: asked the vendor for ${asked} of ${least} URLs`,
  )
  return figures
}

/** Measures the rows of a group on the same two servers. Returns lines of the table. */
const measureGroup = async (group: Group, folder: string): Promise<ReadonlyArray<string>> => {
  const vendor = await start("the vendor", folder, script("vendor.ts"))
  const contenders = await startContenders(group, folder, vendor)
  const urls = group.source === "bought" ? boughtUrls : knownUrls
  for (const server of contenders) await assertHonest(server, urls)

  const rows = group.rows.map((row, i) => {
    const file = join(folder, `requests-${i}.txt`)
    writeRequests(file, row.requests)
    return { row, file, group, measures: contenders.map(() => Array<Measure>()) }
  })
  for (const row of rows) {
    for (const server of contenders) await measure(server, row, warmUpSeconds, vendor)
  }
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) {
      // Measure the two servers in the opposite order in every second round.
      const order = round % 2 === 0 ? contenders : contenders.toReversed()
      for (const server of order) {
        const figures = await measure(server, row, seconds, vendor)
        row.measures[contenders.indexOf(server)]?.push(figures)
        console.error(`${row.row.name}: ${server.name}: ${figures.perSecond.toFixed(0)}/s`)
      }
    }
  }
  return rows.map(({ measures: [ours = [], others = []], row }) =>
    line([row.name, contenders[1]?.name ?? "", ...cells(ours, others)]),
  )
}

const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`

const heads = [
  "requests",
  "beside",
  "ratio",
  "in each round",
  "requests/s",
  "p50 and p99 ms",
  "the other's",
  "CPU µs",
  "the other's",
  "RSS MB",
  "the other's",
]

const cells = (ours: ReadonlyArray<Measure>, others: ReadonlyArray<Measure>) => {
  const [mine, its] = [medians(ours), medians(others)]
  const each = ours.map(({ perSecond }, i) => perSecond / (others[i]?.perSecond ?? Number.NaN))
  return [
    `${ratio(mine.perSecond / its.perSecond)}×`,
    `${ratio(Math.min(...each))}–${ratio(Math.max(...each))}`,
    mine.perSecond.toFixed(0),
    latency(mine),
    latency(its),
    mine.cpuUs.toFixed(0),
    its.cpuUs.toFixed(0),
    mine.rssMb.toFixed(0),
    its.rssMb.toFixed(0),
  ]
}

const ratio = (value: number) => value.toFixed(value < 10 ? 2 : 1)

const latency = ({ p50Ms, p99Ms }: ReturnType<typeof medians>) =>
  `${p50Ms.toFixed(1)} and ${p99Ms.toFixed(1)}`

const bench = newFolder()
const slowDisk = slowFsync(bench)
const lines: Array<string> = []
for (const group of groups) {
  try {
    lines.push(...(await measureGroup(group, subfolder(bench, group.name))))
  } finally {
    await stopAll()
  }
}
const date = new Date().toISOString().slice(0, 10)
const describe = ["describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
const commit = execFileSync("git", describe, { cwd: dist, encoding: "utf8" }).trim()
const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`
console.log(`The benchmark ran on ${date} at commit ${commit}, on ${machine}.
The figures are medians of ${rounds} rounds of ${seconds} s.
`)
console.log([line(heads), line(heads.map((_, i) => (i < 2 ? "---" : "---:"))), ...lines].join("\n"))
console.log(`\n${groups.map(({ meaning, name }) => `- *${name}*: ${meaning}.`).join("\n")}`)
