/**
 * Runs a database server or a connection pooler as a child process, which ends when this process
 * ends.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"

interface Options {
  readonly command: ReadonlyArray<string>
  /** The server prints this text on stderr once it accepts connections. */
  readonly readyText: string
  readonly stopSignal: StopSignal
  readonly cwd: string
  /**
   * The operating-system user that runs the server. An empty object: the user of this Node process.
   */
  readonly user: { readonly uid?: number; readonly gid?: number }
}

/** The shell starts the server with SIGINT ignored: INT is only for servers that handle it. */
type StopSignal = "INT" | "KILL" | "TERM"

/**
 * A shell script that starts the server, and stops the server when the script's stdin closes. Stdin
 * is a pipe from this Node process, so it also closes when this Node process is killed.
 */
const untilInputEnds = (signal: StopSignal) => `exec 3<&0
"$@" & server=$!
(read -r _ <&3; kill -${signal} $server 2>/dev/null) &
wait $server`

/**
 * Resolves once the server accepts connections. Rejects with the server's output if the server
 * exits first.
 */
export const start = async ({ command, cwd, readyText, stopSignal, user }: Options) => {
  const shell = spawn("sh", ["-c", untilInputEnds(stopSignal), "sh", ...command], {
    ...user,
    cwd,
    env: { ...process.env, LC_ALL: "C" },
    stdio: ["pipe", "ignore", "pipe"],
  })
  const ended = once(shell, "exit")
  const log: Array<string> = []
  const ready = new Promise<void>((resolve) => {
    shell.stderr.setEncoding("utf8").on("data", (text: string) => {
      log.push(text)
      if (text.includes(readyText)) resolve()
    })
  })
  const early = ended.then(() => Promise.reject(new Error(log.join(""))))
  await Promise.race([ready, early])
  early.catch(() => {})
  const stop = async () => {
    shell.stdin.end()
    await ended
  }
  /** Sends a signal to the server, but not to the server's own children. */
  const signal = (name: NodeJS.Signals) => {
    // The shell starts the server before the reader of its input.
    const [server] = childrenOf(shell.pid ?? 0)
    if (server !== undefined) process.kill(server, name)
  }
  return { stop, signal, ended, log: () => log.join("") }
}

/** Returns the ids of a process's children, the oldest first. Works on Linux only. */
export const childrenOf = (id: number) =>
  readFileSync(`/proc/${id}/task/${id}/children`, "utf8").split(" ").filter(Boolean).map(Number)
