/** Maps the result of a command to an exit code, and prints a failure as one line on stderr. */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import { printable } from "../check/printable.ts"

/** The arguments are invalid. */
export class WrongUsage extends Data.TaggedError("WrongUsage") {}

/**
 * Runs a command. If the command fails, prints the failure on stderr in one line. Prints
 * nothing for WrongUsage, because the parser has already printed the error.
 */
export const printFailure = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((console) =>
    Effect.zipRight(surviveClosedStreams, command).pipe(
      Effect.tapErrorCause((cause) =>
        Cause.isInterruptedOnly(cause) || isWrongUsage(cause)
          ? Effect.void
          : Console.error(messageOf(Cause.squash(cause))),
      ),
      Effect.withConsole(forShell(console)),
    ),
  )

// Keeps the process alive after an error of stdout or stderr, such as a closed pipe. The service
// then continues without a log, and any other command can report that it could not print its
// result.
const surviveClosedStreams = Effect.sync(() => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
})

/**
 * Exits with 0 on success and after a signal, unless the command set `process.exitCode`.
 * Exits with 2 on wrong usage and with 1 on any other failure.
 */
export const teardown = <A, E>(exit: Exit.Exit<A, E>, onExit: (code: number) => void) =>
  onExit(
    Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)
      ? Number(process.exitCode ?? 0)
      : isWrongUsage(exit.cause)
        ? 2
        : 1,
  )

const isWrongUsage = (cause: Cause.Cause<unknown>) =>
  Predicate.isTagged(Cause.squash(cause), "WrongUsage")

const messageOf = (error: unknown): string =>
  Predicate.hasProperty(error, "message") ? String(error.message) : String(error)

/** Prints an error as one line, with control characters escaped. */
const forShell = (console: Console.Console): Console.Console => ({
  ...console,
  error: (text: unknown) => {
    const sentence = String(text)
      .trim()
      .replaceAll(/\s*\n\s*/g, " ")
    return console.error(`authority: ${printable(sentence)}`)
  },
})
