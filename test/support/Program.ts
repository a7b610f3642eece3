/** Runs the built program as a process, which is killed at the end of the test's scope. */
import { execFile, spawn } from "node:child_process"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { AccountName, Accounts } from "../../src/accounts/Account.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { type Ports, sqliteFile } from "./Stores.ts"
import { eventually } from "./eventually.ts"

export { temporaryFolder as folder } from "./temporaryFolder.ts"

const root = join(import.meta.dirname, "../..")

/** The program's source file. */
export const source = join(root, "src/main.ts")

/** The built program. The test run has built it. */
export const bundle = join(root, "dist/authority.cjs")

/** The folder below `cwd` in which `authority check` keeps its answers during a test. */
export const stateFolder = (cwd: string) => join(cwd, "state")

/** The program's environment, without the developer's own settings. */
const environment = (cwd: string, settings: Record<string, string>) => ({
  PATH: process.env["PATH"],
  XDG_STATE_HOME: stateFolder(cwd),
  // Cache compiled code, because each test starts the program several times, and compiling takes a
  // third of a start.
  NODE_COMPILE_CACHE: join(root, "node_modules/.cache/authority"),
  ...settings,
})

export interface Process {
  readonly pid: number | undefined
  readonly stdout: () => string
  readonly stderr: () => string
  /** Undefined while the process runs; 128 or more if a signal ended it. */
  readonly exitCode: () => number | undefined
  readonly signal: (name: NodeJS.Signals) => void
  /** Closes the reading ends of stdout and stderr. */
  readonly stopReading: () => void
}

/**
 * Starts the program, which is killed at the end of the scope if it still runs. `redirection` is
 * shell syntax, such as `2> /dev/full`.
 */
export const start = (
  cwd: string,
  args: ReadonlyArray<string>,
  settings: Record<string, string> = {},
  program = bundle,
  redirection = "",
) =>
  Effect.acquireRelease(
    Effect.sync((): Process => {
      const line = `exec "$0" "$@" ${redirection}`
      const child = spawn("sh", ["-c", line, process.execPath, program, ...args], {
        cwd,
        env: environment(cwd, settings),
        stdio: ["ignore", "pipe", "pipe"],
      })
      const out: Array<Buffer> = []
      const err: Array<Buffer> = []
      let exitCode: number | undefined
      child.stdout.on("data", (chunk: Buffer) => out.push(chunk))
      child.stderr.on("data", (chunk: Buffer) => err.push(chunk))
      child.on("close", (code) => (exitCode = code ?? 128))
      return {
        pid: child.pid,
        stdout: () => Buffer.concat(out).toString(),
        stderr: () => Buffer.concat(err).toString(),
        exitCode: () => exitCode,
        signal: (name) => void child.kill(name),
        stopReading: () => {
          child.stdout.destroy()
          child.stderr.destroy()
        },
      }
    }),
    (running) =>
      Effect.zipRight(
        Effect.sync(() => running.signal("SIGKILL")),
        Effect.orDie(exited(running)),
      ),
  )

/** Waits for the process to end and returns its exit code. */
export const exited = (running: Process) =>
  Effect.map(
    eventually("the process ends", () => running.exitCode() !== undefined),
    running.exitCode,
  )

/** Runs a verb and waits for its end. */
export const run = (
  cwd: string,
  args: ReadonlyArray<string>,
  settings: Record<string, string> = {},
  program = bundle,
) =>
  Effect.gen(function* () {
    const running = yield* start(cwd, args, settings, program)
    const code = yield* exited(running)
    return { code, stdout: running.stdout(), stderr: running.stderr() }
  }).pipe(Effect.scoped)

/** Runs a shell line in which `authority` is the program. */
export const shell = (cwd: string, before: string, args: ReadonlyArray<string>, after = "") =>
  Effect.async<{ readonly code: number; readonly stdout: string; readonly stderr: string }>(
    (resume) => {
      const quoted = args.map((word) => `'${word}'`).join(" ")
      const program = `authority() { "${process.execPath}" "${bundle}" "$@"; }`
      const line = `set -o pipefail; ${program}; ${before} ${quoted} ${after}`
      const env = environment(cwd, {})
      const child = execFile("bash", ["--norc", "-c", line], { cwd, env }, (_, stdout, stderr) =>
        resume(Effect.succeed({ code: child.exitCode ?? 128, stdout, stderr })),
      )
    },
  )

/** Runs a verb with `--json` and returns its document. Fails if the verb prints an error. */
export const json = (cwd: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(run(cwd, [...args, "--json"]), documentOf(args))

/** Returns the JSON document that a verb has printed. Fails if the verb printed an error. */
export const documentOf =
  (args: ReadonlyArray<string>) =>
  ({ code, stderr, stdout }: Effect.Effect.Success<ReturnType<typeof run>>) =>
    Effect.try({
      try: () => {
        if (code !== 0 || !/^(authority: created the database .+\n)?$/.test(stderr)) {
          throw new Error("it failed")
        }
        return JSON.parse(stdout)
      },
      catch: (cause) =>
        new Error(`authority ${args.join(" ")}: ${code} ${stdout} ${stderr}`, { cause }),
    })

/** Uses the SQLite database of a folder in this process, which is faster than starting a verb. */
export const inDatabase =
  (cwd: string, name = "authority.db") =>
  <A, E>(effect: Effect.Effect<A, E, Ports>) =>
    Effect.provide(effect, sqliteFile(join(cwd, name)))

const acme = Effect.flatMap(Accounts, (accounts) => accounts.find("acme"))

/** The main figures of the balance of `acme`. */
export const books = (cwd: string) =>
  Effect.gen(function* () {
    const balance = yield* (yield* CreditLedger).balance((yield* acme).id)
    return {
      available: Balance.available(balance),
      held: Number(balance.held),
      granted: Number(balance.granted),
      charged: Number(balance.charged),
    }
  }).pipe(inDatabase(cwd))

/** The ledger entries of `acme`, oldest first. */
export const statement = (cwd: string, name?: string) =>
  Effect.gen(function* () {
    const entries = (yield* CreditLedger).statement((yield* acme).id, {})
    return [...(yield* Stream.runCollect(entries))]
  }).pipe(inDatabase(cwd, name))

export const verify = (cwd: string, name?: string) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.verify).pipe(inDatabase(cwd, name))

/** Creates the account `acme` with a key. */
export const newAccount = (credits: number) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Accounts).create(AccountName.make("acme"))
    yield* (yield* CreditLedger).grant(id, Credits.make(credits), null)
    const { key, record } = yield* (yield* ApiKeys).issue({ account: id })
    return { id: String(record.id), key: Redacted.value(key) }
  })

/** Creates the account `acme` with a key in this folder's default database. */
export const openAccount = (cwd: string, credits: number) => inDatabase(cwd)(newAccount(credits))

/** Starts `authority serve` on a free port and waits until it listens. */
export const serve = (
  cwd: string,
  settings: Record<string, string> = {},
  args: ReadonlyArray<string> = [],
  redirection = "",
) =>
  Effect.gen(function* () {
    const onFreePort = { AUTHORITY_PORT: "0", ...settings }
    const running = yield* start(cwd, ["serve", ...args], onFreePort, bundle, redirection)
    const listening = /(?:Listening on |"url":")(http:\/\/127\.0\.0\.1:\d+)/
    yield* eventually("the program listens", () =>
      listening.test(running.stdout() + running.stderr()),
    )
    const [, url = ""] = listening.exec(running.stdout() + running.stderr()) ?? []
    return { ...running, url }
  })
