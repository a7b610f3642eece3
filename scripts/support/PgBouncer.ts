/**
 * Starts a real PgBouncer on a free port in front of a PostgreSQL server. It runs the program in
 * `PGBOUNCER`, or Debian's (`apt-get install pgbouncer`).
 */
import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../free-port.ts"
import { serverUser } from "./Postgres.ts"
import * as ServerProcess from "./ServerProcess.ts"

export interface Options {
  /** The server's URL with host, port, user and password. */
  readonly server: string
  readonly poolMode: "session" | "transaction" | "statement"
  /** The maximum number of connections to the server (default: 20). */
  readonly poolSize?: number
  /** `max_prepared_statements`, for PgBouncer 1.21 and later; 0 turns it off. */
  readonly preparedStatements?: number
}

export interface PgBouncer {
  /** The URL of PgBouncer, without a database. */
  readonly url: string
  /** Kills the process, which closes all connections. */
  readonly stop: () => Promise<void>
  /** Starts PgBouncer again on the same port. */
  readonly start: () => Promise<void>
  /** Stops PgBouncer and removes its files. */
  readonly destroy: () => Promise<void>
}

const program = process.env["PGBOUNCER"] ?? "/usr/sbin/pgbouncer"

/** Returns the version. Fails with install instructions when there is no PgBouncer. */
const version = (): readonly [major: number, minor: number] => {
  try {
    const output = execFileSync(program, ["--version"], { encoding: "utf8" })
    const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(output) ?? []
    return [Number(major), Number(minor)]
  } catch {
    throw new Error(`${program} does not run: apt-get install pgbouncer, or set PGBOUNCER`)
  }
}

/** Returns whether this version supports named prepared statements in transaction mode. */
export const keepsPreparedStatements = () => {
  const [major, minor] = version()
  return major > 1 || minor >= 21
}

export const start = async (options: Options): Promise<PgBouncer> => {
  version()
  const folder = mkdtempSync(join(tmpdir(), "authority-pgbouncer-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const user = serverUser()
    const port = await freePort()
    const url = new URL(options.server)
    const config = write(folder, "pgbouncer.ini", configOf(options, folder, port), user)
    write(folder, "users.txt", `"${url.username}" "${url.password}"\n`, user)
    chmodSync(folder, 0o755)
    let stop = await run(config, folder, user)
    url.port = String(port)
    return {
      url: url.href.replace(/\/$/, ""),
      start: async () => {
        stop = await run(config, folder, user)
      },
      stop: () => stop(),
      destroy: async () => {
        await stop()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

type User = ReturnType<typeof serverUser>

const write = (folder: string, name: string, text: string, { gid, uid }: User) => {
  const file = join(folder, name)
  writeFileSync(file, text, { mode: 0o600 })
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  return file
}

/** The configuration file: PgBouncer's defaults, except for the options. */
const configOf = (options: Options, folder: string, port: number) => {
  const { hostname, port: serverPort } = new URL(options.server)
  return [
    "[databases]",
    `* = host=${hostname} port=${serverPort}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = plain",
    `auth_file = ${join(folder, "users.txt")}`,
    `pool_mode = ${options.poolMode}`,
    `default_pool_size = ${options.poolSize ?? 20}`,
    ...(options.preparedStatements === undefined
      ? []
      : [`max_prepared_statements = ${options.preparedStatements}`]),
  ].join("\n")
}

/** Starts PgBouncer and waits until it accepts connections. Returns a function that kills it. */
const run = async (config: string, cwd: string, user: User) => {
  const { stop } = await ServerProcess.start({
    command: [program, config],
    readyText: "process up",
    stopSignal: "KILL",
    cwd,
    user,
  }).catch((cause: Error) => {
    throw new Error(`PgBouncer ended: ${cause.message}`, { cause })
  })
  return stop
}
