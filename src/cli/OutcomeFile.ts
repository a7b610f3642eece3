/**
 * Where the outcomes go: stdout, or a file that appears under its name when it is whole. Until then
 * it is `FILE.partial`, which nobody takes for the whole list.
 */
import { lstatSync, realpathSync } from "node:fs"
import { open, rename } from "node:fs/promises"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

/** The outcomes cannot be written; `message` says why. */
export class OutputFailed extends Data.TaggedError("OutputFailed")<{
  readonly message: string
}> {}

export interface OutcomeFile {
  /** Empties it; to be called once it is certain that nobody else writes it. */
  readonly begin: Effect.Effect<void, OutputFailed>
  /** Returns when the text is handed over: however slow the reader, memory does not fill. */
  readonly write: (text: string) => Effect.Effect<void, OutputFailed>
  /** It is whole, and on the disk. */
  readonly finish: Effect.Effect<void, OutputFailed>
}

const failed = (name: string) => (cause: unknown) =>
  new OutputFailed({
    message: `${name} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
  })

/** Closing it is the reader's right, as `head` does; the error must not end the process. */
export const stdout: Effect.Effect<OutcomeFile, never, Scope.Scope> = Effect.gen(function* () {
  const ignore = () => {}
  yield* Effect.acquireRelease(
    Effect.sync(() => process.stdout.on("error", ignore)),
    () => Effect.sync(() => process.stdout.off("error", ignore)),
  )
  const write = (text: string) =>
    Effect.async<void, OutputFailed>((resume) => {
      process.stdout.write(text, (error) =>
        resume(error === null || error === undefined ? Effect.void : Effect.fail(closed(error))),
      )
    })
  return { begin: Effect.void, write, finish: Effect.void }
})

const closed = (error: Error) =>
  Predicate.hasProperty(error, "code") && error.code === "EPIPE"
    ? new OutputFailed({ message: "the reader of the output has left" })
    : failed("stdout")(error)

/** Fails before anything is paid for when the file could not be written in the end. */
export const file = (filename: string): Effect.Effect<OutcomeFile, OutputFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const target = yield* Effect.try({ try: () => resolved(filename), catch: failed(filename) })
    const partial = `${target}.partial`
    const attempt = <A>(act: () => Promise<A>) =>
      Effect.tryPromise({ try: act, catch: failed(filename) })
    const handle = yield* Effect.acquireRelease(
      attempt(() => open(partial, "a")),
      (handle) => Effect.ignore(Effect.tryPromise(() => handle.close())),
    )
    return {
      begin: attempt(() => handle.truncate()),
      write: (text) => attempt(() => handle.appendFile(text)),
      finish: attempt(async () => {
        await handle.sync()
        await rename(partial, target)
      }),
    }
  })

/** The file that a link leads to, so that the link stays; devices and folders cannot be replaced. */
const resolved = (filename: string): string => {
  if (lstatSync(filename, { throwIfNoEntry: false }) === undefined) return filename
  const target = realpathSync(filename)
  if (lstatSync(target).isFile()) return target
  throw new Error("it is no ordinary file; without --output everything goes to stdout")
}
