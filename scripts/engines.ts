/**
 * Runs the port suites, the fault tests of the ledger and the service itself as if on a distributed
 * SQL engine: through a proxy that refuses what such engines refuse, and makes one in twenty
 * statements and COMMITs fail with error 40001.
 *
 *     node scripts/engines.ts                   all servers
 *     node scripts/engines.ts --only 15         the servers whose names contain the text
 *     node scripts/engines.ts --conflicts 0.1   another share of statements
 *     node scripts/engines.ts test/database          some of the tests
 *
 * The servers are PostgreSQL 18 (from npm), 18 behind PgBouncer in transaction mode, and 15 (from
 * Debian, or the one whose `bin/postgres` is in the folder POSTGRES_15).
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as EngineProxy from "./support/EngineProxy.ts"
import * as PgBouncer from "./support/PgBouncer.ts"
import * as Postgres from "./support/Postgres.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "" },
    conflicts: { type: "string", default: "0.05" },
  },
})

interface Engine {
  readonly name: string
  readonly programs?: string
  readonly isPooled?: boolean
  /** The program or server that the machine must have. */
  readonly needs?: string
}

const programs15 = process.env["POSTGRES_15"] ?? "/usr/lib/postgresql/15"
const pgbouncer = process.env["PGBOUNCER"] ?? "/usr/sbin/pgbouncer"

const engines: ReadonlyArray<Engine> = [
  { name: "PostgreSQL 18" },
  { name: "PostgreSQL 18 behind PgBouncer", isPooled: true, needs: pgbouncer },
  { name: "PostgreSQL 15", programs: programs15, needs: join(programs15, "bin/postgres") },
]

/** Runs the tests. Returns true if they passed and the proxy refused no statement. */
const test = async ({ isPooled = false, name, programs }: Engine) => {
  const server = await Postgres.start({
    durable: false,
    ...(programs !== undefined && { programs }),
  })
  const pooler = isPooled
    ? await PgBouncer.start({ server: server.url, poolMode: "transaction" })
    : undefined
  const proxy = await EngineProxy.start({
    server: pooler?.url ?? server.url,
    conflicts: Number(values.conflicts),
    calmMs: 1000,
  })
  const startedAt = performance.now()
  const vitest = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "../node_modules/vitest/vitest.mjs"),
      "run",
      "--config",
      ".vitest.config.ts",
      "--project=engines",
      ...positionals,
    ],
    { env: { ...process.env, POSTGRES_URL: proxy.url }, stdio: "inherit" },
  )
  const [code] = await once(vitest, "exit")
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  await proxy.stop()
  await pooler?.destroy()
  await server.destroy()
  const refused = proxy.refused()
  for (const statement of new Set(refused)) console.log(`REFUSED by the proxy: ${statement}`)
  console.log(
    `${name}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s, with ${proxy.conflicts()} conflicts and ${refused.length} refused statements`,
  )
  return code === 0 && refused.length === 0
}

let isWell = true
for (const engine of engines.filter(({ name }) => name.includes(values.only))) {
  if (engine.needs !== undefined && !existsSync(engine.needs)) {
    console.error(`NOT DONE: without ${engine.needs}, nothing ran on ${engine.name}`)
  } else isWell = (await test(engine)) && isWell
}
process.exitCode = isWell ? 0 : 1
