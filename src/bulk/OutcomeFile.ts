/**
 * Writes the outcomes to a file. The file is named `FILE.partial` until all outcomes are
 * written, so an incomplete file never has the final name.
 */
import { lstatSync, realpathSync } from "node:fs"
import { open, rename } from "node:fs/promises"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { OutputFailed } from "./OutputFailed.ts"
import { refuseLink } from "./refuseLink.ts"

export interface OutcomeFile {
  /** Empties the file. Call `begin` only when no other run can be writing to the file. */
  readonly begin: Effect.Effect<void, OutputFailed>
  /**
   * Writes text. Returns when the text is written, so that a slow output does not fill the memory.
   */
  readonly write: (text: string) => Effect.Effect<void, OutputFailed>
  /** Flushes the complete file to disk and gives it its final name. */
  readonly finish: Effect.Effect<void, OutputFailed>
}

/** Opens `FILE.partial` before any credits are spent, and fails when the file is not writable. */
export const file = (filename: string): Effect.Effect<OutcomeFile, OutputFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { partial, target } = yield* Effect.try({
      try: () => placesOf(filename),
      catch: OutputFailed.of(filename),
    })
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

const placesOf = (filename: string) => {
  const target = resolved(filename)
  const partial = `${target}.partial`
  refuseLink(partial)
  return { target, partial }
}

// Returns the final path of the outcomes, for `rename`. For a symbolic link, returns the path of
// the linked file, so that `rename` does not replace the link. Throws for devices and folders.
const resolved = (filename: string): string => {
  if (lstatSync(filename, { throwIfNoEntry: false }) === undefined) return filename
  const target = realpathSync(filename)
  if (lstatSync(target).isFile()) return target
  throw new Error("it is not a regular file; leave out --output to write to stdout")
}
