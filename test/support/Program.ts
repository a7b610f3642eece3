/** The program as it ships, as a process in a folder of its own; it never outlives the test's scope. */
import { execFile, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { AccountName, Accounts } from "../../src/Account.ts"
import { ApiKeys } from "../../src/ApiKeys.ts"
import { CreditLedger } from "../../src/CreditLedger.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { sqliteFile } from "./Stores.ts"
import { eventually } from "../../scripts/support/Wire.ts"

const root = join(import.meta.dirname, "../..")

/** The program as it stands in the repository. */
export const source = join(root, "src/main.ts")

/** The program as `npm run build` makes it, which the run of the tests has done. */
export const bundle = join(root, "dist/authority.cjs")

/** An empty folder to work in, gone with the scope. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
)

/** The tester's own settings are left out, but for the one that chooses the mode of the test run. */
const environment = (settings: Record<string, string>) => ({
  PATH: process.env["PATH"],
  ...(express !== undefined && { AUTHORITY_EXPRESS: express }),
  ...settings,
})

const express = process.env["AUTHORITY_EXPRESS"]

export interface Process {
  readonly pid: number | undefined
  readonly stdout: () => string
  readonly stderr: () => string
  /** Undefined while it runs; 128 and more when a signal ended it. */
  readonly exitCode: () => number | undefined
  readonly signal: (name: NodeJS.Signals) => void
  /** Leaves nobody who reads what the process writes. */
  readonly stopReading: () => void
}

/**
 * Starts the program; it is killed at the end of the scope if it still runs. `redirection` is the
 * shell's, such as `2> /dev/full`.
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
        env: environment(settings),
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

/** The exit code, once the process has ended. */
export const exited = (running: Process) =>
  Effect.map(
    eventually("the process ends", () => running.exitCode() !== undefined),
    running.exitCode,
  )

/** Runs a verb to its end. */
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

/** The program in a line of the shell, where `authority` is its name. */
export const shell = (cwd: string, before: string, args: ReadonlyArray<string>, after = "") =>
  Effect.async<{ readonly code: number; readonly stdout: string; readonly stderr: string }>(
    (resume) => {
      const quoted = args.map((word) => `'${word}'`).join(" ")
      const program = `authority() { "${process.execPath}" "${bundle}" "$@"; }`
      const line = `set -o pipefail; ${program}; ${before} ${quoted} ${after}`
      const env = environment({})
      const child = execFile("bash", ["--norc", "-c", line], { cwd, env }, (_, stdout, stderr) =>
        resume(Effect.succeed({ code: child.exitCode ?? 128, stdout, stderr })),
      )
    },
  )

/** What a verb prints with `--json`: one document. On stderr is nothing but a new database's name. */
export const json = (cwd: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(run(cwd, [...args, "--json"]), ({ code, stderr, stdout }) =>
    Effect.try({
      try: () => {
        if (code !== 0 || !/^(authority: created the database .+\n)?$/.test(stderr)) {
          throw new Error("it failed")
        }
        return JSON.parse(stdout)
      },
      catch: (cause) =>
        new Error(`authority ${args.join(" ")}: ${code} ${stdout} ${stderr}`, { cause }),
    }),
  )

/** The account `acme` with a key, in the database that the program uses in this folder. */
export const openAccount = (cwd: string, credits: number) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Accounts).create(AccountName.make("acme"))
    yield* (yield* CreditLedger).grant(id, Credits.make(credits), null)
    const { key, record } = yield* (yield* ApiKeys).issue({ account: id })
    return { id: String(record.id), key: Redacted.value(key) }
  }).pipe(Effect.provide(sqliteFile(join(cwd, "authority.db"))))

/** `authority serve` on a free port, once it listens. */
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
