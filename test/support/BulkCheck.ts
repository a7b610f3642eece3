/** Helpers for the tests of the bulk check `authority check`. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { request } from "./RawHttp.ts"
import { eventually } from "./eventually.ts"
import { books, exited, folder, openAccount, type Process, serve, start } from "./Program.ts"
import { creditsPath } from "./TestServer.ts"

export const timeout = 240_000

/** Makes a folder with a list, and the arguments of a bulk check of that list. */
export const project = (url: string, key: string) =>
  Effect.map(folder, (cwd) => ({
    cwd,
    list: (lines: ReadonlyArray<string>) =>
      writeFileSync(join(cwd, "list.txt"), lines.map((line) => `${line}\n`).join("")),
    read: (name: string) => readFileSync(join(cwd, name), "utf8"),
    args: ["check", "list.txt", "--key", key, "--url", url],
  }))

/** Waits until the account has spent at least this amount of the credits that it had. */
export const spending =
  <E, R>(credits: number, available: Effect.Effect<number, E, R>) =>
  (amount: number) =>
    eventually(
      `${amount} credits are spent`,
      Effect.map(available, (left) => credits - left >= amount),
    )

/** Starts the service as a process that a test may kill. */
export const ownService = (credits: number, settings: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const data = yield* folder
    const { key } = yield* openAccount(data, credits)
    const server = yield* serve(data, settings)
    const available = Effect.map(
      request(server.url, { path: creditsPath, headers: { "x-api-key": key } }),
      ({ text }) => Number(JSON.parse(text).data.availableCredits),
    )
    return {
      ...(yield* project(server.url, key)),
      spent: spending(credits, available),
      books: books(data),
      kill: Effect.suspend(() => {
        server.signal("SIGKILL")
        return exited(server)
      }),
      restart: serve(data, { ...settings, AUTHORITY_PORT: new URL(server.url).port }),
    }
  })

export const rowsOf = (csv: string) =>
  csv
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((row) => row.split(","))

export const csv = (cwd: string, name: string) => rowsOf(readFileSync(join(cwd, name), "utf8"))

/** Waits longer than `exited`, because a list takes long while other tests are running. */
export const finished = (running: Process) => Effect.retry(exited(running), { times: 5 })

/** Runs the program and waits for its end. */
export const toEnd = (cwd: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const running = yield* start(cwd, args)
    const code = yield* finished(running)
    return { code, stdout: running.stdout(), stderr: running.stderr() }
  }).pipe(Effect.scoped)
