/**
 * A real PgBouncer on a free port in front of a server of `Postgres.ts`. The program is Debian's:
 * `apt-get install pgbouncer`, or the one that `PGBOUNCER` names.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../scripts/free-port.ts"
import { serverUser } from "../../scripts/support/Postgres.ts"
import * as ServerProcess from "../../scripts/support/ServerProcess.ts"

export interface Options {
  /** Where the server is: host, port, user and password count. */
  readonly server: string
  readonly poolMode: "session" | "transaction" | "statement"
  /** Connections to the server (default: 20). */
  readonly poolSize?: number
  /** Named prepared statements that a connection keeps; 0 for none. PgBouncer 1.21 has it. */
  readonly preparedStatements?: number
}

export interface PgBouncer {
  /** As of the server, without a database. */
  readonly url: string
  /** Kills the process: every connection ends at once. */
  readonly stop: () => Promise<void>
  /** Again, on the same port. */
  readonly start: () => Promise<void>
  /** Ends it for good. */
  readonly destroy: () => Promise<void>
}

const program = process.env["PGBOUNCER"] ?? "/usr/sbin/pgbouncer"

/** Fails with what to install where there is no PgBouncer. */
export const version = (): readonly [major: number, minor: number] => {
  try {
    const said = execFileSync(program, ["--version"], { encoding: "utf8" })
    const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(said) ?? []
    return [Number(major), Number(minor)]
  } catch {
    throw new Error(`${program} does not run: apt-get install pgbouncer, or set PGBOUNCER`)
  }
}

/** Whether it lets clients prepare statements by name where connections are shared. */
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

/** PgBouncer's own defaults, but for what the options say. */
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

/** Returns a function that kills PgBouncer, once PgBouncer accepts connections. */
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
