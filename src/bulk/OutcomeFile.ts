/**
 * Where the outcomes go: stdout, or a file that gets its name when it is complete. Until then it is
 * `FILE.partial`, which nobody takes for the complete list.
 */
import { lstatSync, realpathSync } from "node:fs"
import { open, rename } from "node:fs/promises"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { OutputFailed } from "./OutputFailed.ts"

export interface OutcomeFile {
  /** Empties it; to be called once it is certain that nobody else writes it. */
  readonly begin: Effect.Effect<void, OutputFailed>
  /** Returns when the text is handed over: however slow the reader, memory does not fill. */
  readonly write: (text: string) => Effect.Effect<void, OutputFailed>
  /** It is whole, and on the disk. */
  readonly finish: Effect.Effect<void, OutputFailed>
}

/** Fails before anything is paid for when the file could not be written in the end. */
export const file = (filename: string): Effect.Effect<OutcomeFile, OutputFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const target = yield* Effect.try({
      try: () => resolved(filename),
      catch: OutputFailed.of(filename),
    })
    const partial = `${target}.partial`
    const attempt = <A>(act: () => Promise<A>) =>
      Effect.tryPromise({ try: act, catch: OutputFailed.of(filename) })
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
