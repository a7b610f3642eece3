/** The verbs, and what their ends mean to a shell. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as CliConfig from "@effect/cli/CliConfig"
import * as ValidationError from "@effect/cli/ValidationError"
import { stripVTControlCharacters } from "node:util"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import { account } from "./account.ts"
import { credits } from "./credits.ts"
import { dataset } from "./dataset.ts"
import { key } from "./key.ts"
import { json } from "./Output.ts"
import { version } from "./version.ts"

// What a verb alone needs is imported when it runs: no other verb, nor `--help`, waits for it.
const serve = Command.make("serve", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./serve.ts")),
    ({ serve }) => serve(options),
  ),
).pipe(Command.withDescription("Answer requests until a signal ends it"))

const openapi = Command.make("openapi", { json }, () =>
  Effect.flatMap(
    Effect.promise(() => import("./openapi.ts")),
    ({ openapi }) => openapi,
  ),
).pipe(Command.withDescription("Print the OpenAPI document of the interface"))

const doctor = Command.make("doctor", { json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./doctor.ts")),
    ({ doctor }) => doctor(options),
  ),
).pipe(Command.withDescription("Examine settings, database, ledger and provider"))

const backup = Command.make("backup", { file: Args.text({ name: "FILE" }), json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./backup.ts")),
    ({ backup }) => backup(options),
  ),
).pipe(Command.withDescription("Copy a SQLite database while it serves, and examine the copy"))

const authority = Command.make("authority").pipe(
  Command.withDescription("How authoritative are these domains and pages?"),
  Command.withSubcommands([serve, account, key, credits, dataset, doctor, backup, openapi]),
)

/** Runs the verb that the arguments name; a failure is told on stderr in one line. */
export const run = (argv: ReadonlyArray<string>) =>
  Command.run(authority, { name: "authority", version })(argv).pipe(
    Effect.tapErrorCause((cause) =>
      Cause.isInterruptedOnly(cause) || isUsageError(Cause.squash(cause))
        ? Effect.void
        : Console.error(tell(Cause.squash(cause))),
    ),
    Effect.provide(CliConfig.layer({ showBuiltIns: false, showTypes: false })),
    (program) => Console.consoleWith((console) => Effect.withConsole(program, forShell(console))),
  )

/** 0 done, also when a signal ended it in order; 1 failed; 2 wrong usage. */
export const teardown = <A, E>(exit: Exit.Exit<A, E>, onExit: (code: number) => void) =>
  onExit(
    Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)
      ? 0
      : isUsageError(Cause.squash(exit.cause))
        ? 2
        : 1,
  )

const isUsageError = ValidationError.isValidationError

const tell = (error: unknown): string =>
  Predicate.hasProperty(error, "message") ? String(error.message) : String(error)

/** No colours for what is not a terminal, and each error in a line of its own. */
const forShell = (console: Console.Console): Console.Console => ({
  ...console,
  log: (text: unknown) =>
    console.log(process.stdout.isTTY ? text : stripVTControlCharacters(String(text))),
  error: (text: unknown) => {
    const line = stripVTControlCharacters(String(text))
      .trim()
      .replaceAll(/\s*\n\s*/g, " ")
    return console.error(`authority: ${line}`)
  },
})
