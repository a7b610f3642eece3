/** What the end of a verb means to a shell: the exit code, and the line that tells of a failure. */
import { stripVTControlCharacters } from "node:util"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import { line } from "./Output.ts"

/** The arguments name no verb, or not what it takes; whoever found out has said so already. */
export class WrongUsage extends Data.TaggedError("WrongUsage") {}

/** A failure is told on stderr in one line. */
export const told = <A, E, R>(verb: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((console) =>
    Effect.zipRight(surviveClosedStreams, verb).pipe(
      Effect.tapErrorCause((cause) =>
        Cause.isInterruptedOnly(cause) || isWrongUsage(cause)
          ? Effect.void
          : Console.error(tell(Cause.squash(cause))),
      ),
      Effect.withConsole(forShell(console)),
    ),
  )

/**
 * Without a listener, an error of stdout or stderr ends the process: a closed pipe, a full disk. The
 * service outlives its log, and a verb reports what it could not write.
 */
const surviveClosedStreams = Effect.sync(() => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
})

/**
 * 0 done, also when a signal ended it in order, unless the verb has said otherwise; 1 failed; 2
 * wrong usage.
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

const tell = (error: unknown): string =>
  Predicate.hasProperty(error, "message") ? String(error.message) : String(error)

/** No colours for what is not a terminal, and each error in a line of its own. */
const forShell = (console: Console.Console): Console.Console => ({
  ...console,
  log: (text: unknown) => Effect.orDie(line(String(text))),
  error: (text: unknown) => {
    const sentence = stripVTControlCharacters(String(text))
      .trim()
      .replaceAll(/\s*\n\s*/g, " ")
    return console.error(`authority: ${sentence}`)
  },
})
