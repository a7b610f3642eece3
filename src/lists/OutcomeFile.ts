/** Writes the outcomes to a file, which is called `FILE.partial` until it is complete. */
import { closeSync, lstatSync, openSync, readSync } from "node:fs"
import { open, rename, rm, stat } from "node:fs/promises"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Failure from "../database/Failure.ts"

export class OutputFailed extends Data.TaggedError("OutputFailed")<{
  readonly message: string
}> {
  /** Makes the error of a failed write. `name` is the output: a file name or `stdout`. */
  static readonly of =
    (name: string) =>
    (cause: unknown): OutputFailed =>
      new OutputFailed({
        message:
          Predicate.hasProperty(cause, "code") && cause.code === "EPIPE"
            ? "the output pipe was closed"
            : `${name} cannot be written: ${Failure.ofFile(cause)}`,
      })
}

export interface OutcomeFile {
  /**
   * Begins an empty file. If another run is writing to the same file, that run fails at its end.
   */
  readonly begin: Effect.Effect<void, OutputFailed>
  /** Writes text, and waits until it is written, so that a slow output does not fill the memory. */
  readonly write: (text: string) => Effect.Effect<void, OutputFailed>
  /** Flushes the complete file to disk and gives it its final name. */
  readonly finish: Effect.Effect<void, OutputFailed>
}

/** Opens `FILE.partial` before any credits are spent. Fails when the file is not writable. */
export const file = (filename: string): Effect.Effect<OutcomeFile, OutputFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const partial = `${filename}.partial`
    yield* Effect.try({
      try: () => {
        refuseLink(partial)
        refuseOther(filename)
      },
      catch: OutputFailed.of(filename),
    })
    const attempt = <A>(act: () => Promise<A>) =>
      Effect.tryPromise({ try: act, catch: OutputFailed.of(filename) })
    const opened = (flags: string) =>
      Effect.acquireRelease(
        attempt(() => open(partial, flags)),
        (handle) => Effect.ignore(Effect.tryPromise(() => handle.close())),
      )
    const scope = yield* Effect.scope
    let handle = yield* opened("a")
    return {
      begin: Effect.gen(function* () {
        yield* attempt(() => rm(partial, { force: true }))
        handle = yield* Effect.provideService(opened("ax"), Scope.Scope, scope)
      }),
      write: (text) => attempt(() => handle.appendFile(text)),
      finish: attempt(async () => {
        await handle.sync()
        const [mine, found] = await Promise.all([
          handle.stat(),
          stat(partial).catch(() => undefined),
        ])
        if (mine.ino !== found?.ino) throw new Error("another run writes to the same file")
        await rename(partial, filename)
      }),
    }
  })

/**
 * Throws for a symbolic link, so that a run never writes to a file that somebody else has chosen.
 */
export const refuseLink = (path: string): void => {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new Error(`${path} is a symbolic link; delete it, or move it away`)
  }
}

/** Throws for what a run must not replace: a link, a device, a folder or a database. */
const refuseOther = (filename: string) => {
  const found = lstatSync(filename, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isFile()) {
    throw new Error(
      "it is a link, a folder or a device; name another file, or leave out --output to write to stdout",
    )
  }
  if (isDatabase(filename)) throw new Error("it is a database; name another file with --output")
}

/** True for a file that begins like a SQLite database. */
const isDatabase = (filename: string) => {
  const file = openSync(filename, "r")
  try {
    const start = Buffer.alloc(16)
    readSync(file, start)
    return start.toString("latin1") === "SQLite format 3\0"
  } finally {
    closeSync(file)
  }
}
