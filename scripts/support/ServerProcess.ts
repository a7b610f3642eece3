/**
 * Runs a database server or a connection pooler as a child process, which ends when this process
 * ends.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"

export interface Options {
  readonly command: ReadonlyArray<string>
  /** The server prints this text on stderr once it accepts connections. */
  readonly readyText: string
  readonly stopSignal: "INT" | "KILL"
  readonly cwd: string
  /**
   * The operating-system user that runs the server. An empty object: the user of this Node process.
   */
  readonly user: { readonly uid?: number; readonly gid?: number }
}

/**
 * A shell script that starts the server, and stops the server when the script's stdin closes. Stdin
 * is a pipe from this Node process, so it also closes when this Node process is killed.
 */
const untilInputEnds = (signal: "INT" | "KILL") => `exec 3<&0
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
  return { stop, log: () => log.join("") }
}
