/** Lists the commands of the program, and runs the command that the arguments name. */
import { userInfo } from "node:os"
import { CommanderError, Command as Parser } from "commander"
import * as Effect from "effect/Effect"
import { Actor } from "../accounts/AuditLog.ts"
import { WrongUsage } from "./ExitStatus.ts"
import { write } from "./Output.ts"
import type { Command } from "./Command.ts"
import { version } from "./version.ts"

type Entry = readonly [description: string, load: () => Promise<{ readonly command: Command }>]

/** The module of a command is imported on use, so that `serve` and `--help` start faster. */
const commands: Readonly<Record<string, Entry>> = {
  serve: ["Run the service until SIGTERM or SIGINT", () => import("./serve.ts")],
  migrate: [
    "Update the schema of the database for this version of the program",
    async () => ({ command: (await import("./commands/database.ts")).migrate }),
  ],
  account: ["Create, list, suspend and resume accounts", () => import("./commands/account.ts")],
  key: ["Create, list, update, rotate and revoke API keys", () => import("./commands/key.ts")],
  credits: [
    "Grant credits, show balances, and verify the ledger",
    () => import("./commands/credits.ts"),
  ],
  audit: ["List what operators did and tried, newest first", () => import("./commands/audit.ts")],
  usage: [
    "Show what an account has used, by day or by API key",
    () => import("./commands/usage.ts"),
  ],
  check: ["Check a list of URLs, of any length, through the HTTP API", () => import("./check.ts")],
  history: ["Show the figures of a URL over time", () => import("./commands/history.ts")],
  dataset: ["Import data for the provider dataset", () => import("./commands/dataset.ts")],
  provider: [
    "Ask the providers whether they can serve, and report what was bought and sold",
    () => import("./commands/provider.ts"),
  ],
  doctor: [
    "Check the settings, database, ledger and provider",
    () => import("./commands/doctor.ts"),
  ],
  backup: [
    "Copy a SQLite database, even while the service uses it, and verify the copy",
    async () => ({ command: (await import("./commands/database.ts")).backup }),
  ],
  restore: [
    "Replace the SQLite database with a backup, and keep the replaced database",
    async () => ({ command: (await import("./commands/database.ts")).restore }),
  ],
  mcp: [
    "Serve agents over stdin and stdout, through the service",
    () => import("./commands/mcp.ts"),
  ],
  openapi: ["Print the OpenAPI document of the HTTP API", () => import("./commands/openapi.ts")],
}

/**
 * Runs the command that `words` name, or prints help. On wrong usage, commander prints the error,
 * and this fails with WrongUsage.
 */
export const run = (words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    let printed = ""
    let chosen: Effect.Effect<void, Error> = Effect.suspend(() => write(printed))
    const program = new Parser("authority")
      .description("Serve and check authority metrics of domains and pages")
      .version(version)
      .exitOverride()
      .configureOutput({ writeOut: (text) => (printed += text) })
    for (const [name, [description, load]] of Object.entries(commands)) {
      const listed = program.command(name).description(description)
      if (!words.includes(name)) continue
      const { command } = yield* Effect.promise(load)
      command(listed, (run) => {
        chosen = run
      })
    }
    try {
      program.parse(words, { from: "user" })
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      if (error.exitCode !== 0) return yield* new WrongUsage()
    }
    yield* Effect.provideService(chosen, Actor, `cli:${osUser()}`)
  })

/** The operating system's name for the user, or the user's number in a container without names. */
const osUser = () => {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? "unknown")
  }
}
