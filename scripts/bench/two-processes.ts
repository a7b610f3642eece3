/**
 * Measures whether two processes on one SQLite file serve more requests per second than one
 * process. Sends requests for URLs whose figures are cached, without idempotency keys, to one
 * process on 64 connections, then to two processes on 32 connections each. Prints a Markdown table:
 * for one and for two processes, the medians over all rounds, and the highest memory.
 *
 * With `--postgres`, the processes share a PostgreSQL, and the table compares 64 accounts with one
 * account, for one and for two processes. The rounds of the rows alternate. Also prints the bytes of
 * each row in the ledger's tables.
 *
 *     node scripts/bench/two-processes.ts [--postgres] [--rounds 3] [--seconds 4]
 *
 * Needs Linux, wrk, a C compiler and a build.
 */
import assert from "node:assert/strict"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Schema from "effect/Schema"
import * as Pg from "pg"
import { defaultConnections, load, medians, rssMb, writeRequests } from "./measure.ts"
import { matching } from "./workloads.ts"
import {
  dist,
  learn,
  mozSettings,
  newFolder,
  openAccounts,
  script,
  serve,
  type Server,
  start,
  stopAll,
  subfolder,
} from "./servers.ts"
import { median } from "../support/quantile.ts"
import { slowFsync } from "../support/slowFsync.ts"

const { values: options } = parseArgs({
  options: {
    postgres: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
  },
})
const warmUpSeconds = options.postgres ? 3 : 8
const program = join(dist, "authority.cjs")
const folder = newFolder()
const file = join(folder, "requests.txt")

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

/**
 * Measures processes that share one load. Returns the sum of their requests per second and of their
 * memory, their highest p99 latency, and the medians of their other figures.
 */
const together = async (processes: ReadonlyArray<Server>, seconds: number) => {
  const connections = defaultConnections / processes.length
  const measures = await Promise.all(
    processes.map((server) => load(server, { file, seconds, connections })),
  )
  return {
    perSecond: sum(measures.map(({ perSecond }) => perSecond)),
    p50Ms: median(measures.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...measures.map(({ p99Ms }) => p99Ms)),
    cpuUs: median(measures.map(({ cpuUs }) => cpuUs)),
    rssMb: sum(processes.map(({ pid }) => rssMb(pid))),
  }
}

/** Starts `count` processes on one new database. */
const startAll = async (count: number, disk: string, env: NodeJS.ProcessEnv) => {
  const cwd = subfolder(folder, `${count}, ${disk}`)
  const settings = { ...mozSettings(vendor), ...env }
  const keys = openAccounts(cwd, program, settings)
  const started: Array<Server> = []
  for (let i = 0; i < count; i++) {
    const name = `process ${i + 1} of ${count}`
    started.push({ ...(await serve({ name, cwd, program, settings })), keys })
  }
  for (const server of started) await learn(server)
  return started
}

interface Contender {
  readonly name: string
  readonly processes: ReadonlyArray<Server>
}

/** Loads the contenders in turn, and prints a row for each kind of request and contender. */
const compare = async (disk: string, pattern: RegExp, contenders: ReadonlyArray<Contender>) => {
  for (const row of matching(pattern).flatMap(({ rows }) => rows)) {
    writeRequests(file, row.requests)
    for (const { processes } of contenders) await together(processes, warmUpSeconds)
    const rounds = contenders.map(() => Array<Awaited<ReturnType<typeof together>>>())
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [i, { processes }] of contenders.entries()) {
        rounds[i]?.push(await together(processes, Number(options.seconds)))
      }
    }
    rounds.forEach((measures, i) => {
      const { cpuUs, p99Ms, perSecond } = medians(measures)
      // Each round is compared with the same round of the first: other load hits both.
      const times = measures.map((one, round) => {
        const first = rounds[0]?.[round]?.perSecond ?? Number.NaN
        return one.perSecond / first
      })
      const name = contenders[i]?.name ?? ""
      const cells = [row.name, disk, name, perSecond.toFixed(0), p99Ms.toFixed(1)]
      const memory = Math.max(...measures.map(({ rssMb }) => rssMb))
      cells.push(cpuUs.toFixed(0), memory.toFixed(0))
      cells.push(`${median(times).toFixed(2)}×`)
      console.log(`| ${cells.join(" | ")} |`)
    })
  }
}

const onSqlite = async (disk: string, env: NodeJS.ProcessEnv) => {
  const one = await startAll(1, disk, env)
  const two = await startAll(2, disk, env)
  await compare(disk, /^known, unnamed/, [
    { name: "1", processes: one },
    { name: "2", processes: two },
  ])
  for (const server of [...one, ...two]) await server.stop()
}

const token = "the-token-of-the-administration-for-the-bench"

const onPostgres = async (disk: string, env: NodeJS.ProcessEnv) => {
  const cwd = subfolder(folder, disk)
  const database = await start("PostgreSQL", cwd, [script("start-postgres.ts")], env)
  const settings = {
    ...mozSettings(vendor),
    AUTHORITY_DATABASE_URL: database.url,
    AUTHORITY_ADMIN_TOKEN: token,
  }
  const first = await serve({ name: "process 1", cwd, program, settings })
  const second = await serve({ name: "process 2", cwd, program, settings })
  const keys = await openAccountsOver(first, 64)
  const hot = keys.slice(0, 1)
  for (const server of [first, second]) await learn({ ...server, keys })
  const contender = (
    name: string,
    servers: ReadonlyArray<Server>,
    keys: ReadonlyArray<string>,
  ) => ({
    name,
    processes: servers.map((server) => ({ ...server, keys })),
  })
  await compare(disk, /^known, (un)?named, 1 URL$/, [
    contender("1, 64 accounts", [first], keys),
    contender("1, one account", [first], hot),
    contender("2, 64 accounts", [first, second], keys),
    contender("2, one account", [first, second], hot),
  ])
  for (const server of [first, second]) await server.stop()
  await printSizes(database.url)
  await database.stop()
}

/** Creates accounts with the administration over HTTP. Returns an API key of each account. */
const openAccountsOver = async ({ url }: Server, count: number) => {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/admin/v1/accounts${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, 201, text)
    return text
  }
  const keys: Array<string> = []
  for (let i = 0; i < count; i++) {
    await post("", { name: `hot-${i}`, credits: 1_000_000_000 })
    keys.push(decodeKey(await post(`/hot-${i}/keys`, {})).data.key)
  }
  return keys
}

const decodeKey = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ data: Schema.Struct({ key: Schema.String }) })),
)

/** Prints the size of each row, with its part of the indexes. */
const printSizes = async (database: string) => {
  const client = new Pg.Client(database)
  await client.connect()
  await client.query("VACUUM ANALYZE")
  for (const table of ["entries", "receipts", "usage"]) {
    const { rows } = await client.query({
      text: `SELECT count(*)::int, pg_table_size('${table}')::int, pg_indexes_size('${table}')::int FROM ${table}`,
      rowMode: "array",
    })
    const [count, heap, indexes] = decodeSizes(rows)[0]
    const each = (bytes: number) => `${(bytes / count).toFixed(0)} bytes`
    console.log(`${table}: ${count} rows, each ${each(heap)} and ${each(indexes)} in indexes`)
  }
  await client.end()
}

const decodeSizes = Schema.decodeUnknownSync(
  Schema.Tuple(Schema.Tuple(Schema.Int, Schema.Int, Schema.Int)),
)

const vendor = await start("the vendor", folder, [script("vendor.ts")])
try {
  console.log(
    "| requests | fsync | processes | requests/s | p99 ms | CPU µs | RSS MB | times the first |",
  )
  console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
  for (const [disk, env] of [
    ["own", {}],
    ["+1 ms", slowFsync(folder)],
  ] as const) {
    await (options.postgres ? onPostgres(disk, env) : onSqlite(disk, env))
  }
} finally {
  await stopAll()
}
