/**
 * Compares the speed of the built service with the server in `peer.ts` and prints a Markdown table.
 * Each row of the table measures one kind of request, and shows the ratio of the two servers'
 * requests per second, and the service's share of a bare server's. README.md beside this file
 * explains the table. Needs Linux, wrk and a C compiler.
 *
 *     npm run bench -- [OPTION]…
 *
 *     --rows PATTERN     measure only the rows whose names match (a regular expression)
 *     --list             print the names of the rows
 *     --rounds N         how often each row is measured (default: 3)
 *     --seconds N        seconds of load on each server in each round of a row (default: 4)
 *     --warm-up N        seconds of load on each server before a row's first round (default: 4)
 *     --rss-seconds N    measure a server's memory at the end of at least N seconds of load, rounds
 *                        and warm-up included (default: 60; 0: do not measure memory)
 *     --against FILE     compare with another build's authority.cjs instead of with `peer.ts`
 *     --json FILE        also write all figures of all rounds to FILE
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { boughtUrls, knownUrls } from "./requests.ts"
import { defaultConnections, load, type Measure, rssUnderLoad, writeRequests } from "./measure.ts"
import { type Group, matching, type Row } from "./workloads.ts"
import {
  assertHonest,
  available,
  counted,
  dist,
  learn,
  newFolder,
  script,
  type Server,
  settingsOf,
  start,
  startService,
  stopAll,
  subfolder,
} from "./servers.ts"
import { type Memory, type Result, table } from "./table.ts"
import { slowFsync } from "../support/slowFsync.ts"

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "" },
    list: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    "warm-up": { type: "string", default: "4" },
    "rss-seconds": { type: "string", default: "60" },
    against: { type: "string" },
    json: { type: "string" },
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
const rssSeconds = Number(values["rss-seconds"])

/**
 * A server in the comparison, with the number of requests and the seconds of load that it has
 * served.
 */
interface Contender {
  readonly server: Server
  requests: number
  loadSeconds: number
}

/**
 * The other processes of a run, such as the fake vendor. The servers under test connect to them.
 */
interface Helpers {
  readonly folder: string
  readonly vendor: Server
  readonly sink: Server
}

/** Starts the service and the server that it is compared with. */
const startContenders = async (group: Group, helpers: Helpers): Promise<ReadonlyArray<Server>> => {
  const env = group.hasSlowDisk === true ? slowDisk : {}
  const program = join(dist, "authority.cjs")
  const service = async (name: string, program: string, isOnPostgres: boolean) => {
    const cwd = subfolder(helpers.folder, name)
    const settings = {
      ...settingsOf(group, helpers),
      ...(isOnPostgres && { AUTHORITY_DATABASE_URL: await postgres(cwd) }),
      ...env,
    }
    const server = await startService({ name, cwd, program, settings })
    if (group.source === "known") await learn(server)
    return server
  }
  const isOnPostgres = group.isOnPostgres === true
  const ours = await service("the service", program, isOnPostgres)
  if (values.against !== undefined) {
    return [ours, await service("the other build", resolve(values.against), isOnPostgres)]
  }
  if (isOnPostgres) return [ours, await service("the service on SQLite", program, false)]
  const peer = [script("peer.ts"), group.source, helpers.vendor.url]
  return [ours, await start("the peer", subfolder(helpers.folder, "peer"), peer, env)]
}

/** Starts a PostgreSQL with its data in a folder. Returns its address. */
const postgres = async (cwd: string) =>
  (await start("PostgreSQL", cwd, [script("start-postgres.ts")])).url

/**
 * Measures one row of the benchmark's table on one server. Fails when a URL was not charged. If the
 * figures of the row's group are bought, the server must ask the vendor for every URL. In all other
 * groups it must ask the vendor for none.
 */
const measure = async (
  contender: Contender,
  { row, file, group, seconds }: { row: Row; file: string; group: Group; seconds: number },
  { vendor }: Helpers,
): Promise<Measure> => {
  const { server } = contender
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
  contender.requests += figures.requests
  contender.loadSeconds += seconds
  return figures
}

/**
 * Measures the memory of a server under load. `file` contains the requests of all rows of the table
 * that are measured on this server.
 */
const memoryOf = async (contender: Contender, file: string): Promise<Memory> => {
  if (rssSeconds === 0) return { rssMb: Number.NaN, peakMb: Number.NaN, loadSeconds: 0 }
  const window = Math.min(10, rssSeconds)
  const missing = Math.max(window, rssSeconds - contender.loadSeconds)
  const { requests, ...memory } = await rssUnderLoad(
    contender.server,
    { file, seconds: missing },
    window,
  )
  contender.requests += requests
  contender.loadSeconds += missing
  return { ...memory, loadSeconds: contender.loadSeconds }
}

/**
 * Mixes the requests of several rows of the table, in 1,000 rounds. Each round takes the next
 * request of each row. After the last request of a row comes the row's first request again.
 */
const mixed = (rows: ReadonlyArray<Row>) =>
  Array.from({ length: 1000 }, (_, i) =>
    rows.flatMap(({ requests }) => requests[i % requests.length] ?? []),
  ).flat()

const measureGroup = async (group: Group, folder: string): Promise<ReadonlyArray<Result>> => {
  const helpers: Helpers = {
    folder,
    vendor: await start("the vendor", folder, [script("vendor.ts")]),
    sink: await start("the OTLP receiver", folder, [script("sink.ts")]),
  }
  const contenders = (await startContenders(group, helpers)).map((server): Contender => ({
    server,
    requests: 0,
    loadSeconds: 0,
  }))
  const bare = await start("the bare server", subfolder(folder, "bare"), [script("bare.ts")])
  const urls = group.source === "bought" ? boughtUrls : knownUrls
  for (const { server } of contenders) await assertHonest(server, urls)

  const rows = group.rows.map((row, i) => {
    const file = join(folder, `requests-${i}.txt`)
    writeRequests(file, row.requests)
    return {
      row,
      file,
      group,
      measures: contenders.map(() => Array<Measure>()),
      bare: Array<Measure>(),
    }
  })
  for (const row of rows) {
    for (const contender of contenders) {
      await measure(contender, { ...row, seconds: warmUpSeconds }, helpers)
    }
    await load(bare, { file: row.file, seconds: warmUpSeconds })
  }
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) {
      // Measure the two servers in the opposite order in every second round.
      const order = round % 2 === 0 ? contenders : contenders.toReversed()
      for (const contender of order) {
        const figures = await measure(contender, { ...row, seconds }, helpers)
        row.measures[contenders.indexOf(contender)]?.push(figures)
        const { perSecond } = figures
        console.error(`${row.row.name}: ${contender.server.name}: ${perSecond.toFixed(0)}/s`)
      }
      row.bare.push(await load(bare, { file: row.file, seconds }))
    }
  }
  const file = join(folder, "mixed.txt")
  writeRequests(file, mixed(group.rows))
  const memories: Array<Memory> = []
  for (const contender of contenders) memories.push(await memoryOf(contender, file))

  if (group.isTraced === true) await assertTraced(contenders, helpers)
  return rows.map(({ bare, measures, row }) => ({
    group,
    row: row.name,
    bare,
    contenders: contenders.map(({ server }, i) => ({
      name: server.name,
      rounds: measures[i] ?? [],
      memory: memories[i],
    })),
  }))
}

/** Stops the service. Fails unless it has sent at least one span per request. */
const assertTraced = async ([service]: ReadonlyArray<Contender>, { sink }: Helpers) => {
  await service?.server.stop()
  const spans = await counted(sink, "spans")
  const requests = service?.requests ?? 0
  assert(spans >= requests, `the receiver got ${spans} spans of ${requests} requests`)
}

const describe = ["describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
const about = {
  date: new Date().toISOString().slice(0, 10),
  commit: execFileSync("git", describe, { cwd: dist, encoding: "utf8" }).trim(),
  machine: `${cpus().length} cores, ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`,
  rounds,
  seconds,
}

const bench = newFolder()
const slowDisk = slowFsync(bench)
const results: Array<Result> = []
for (const group of groups) {
  try {
    results.push(...(await measureGroup(group, subfolder(bench, group.name))))
  } finally {
    await stopAll()
  }
}
console.log(table(about, results))
if (values.json !== undefined) {
  const rows = results.map(({ bare, contenders, row }) => ({ row, contenders, bare }))
  writeFileSync(values.json, JSON.stringify({ about, rows }, undefined, 2))
}
