/** A verb in the process of the test, for what it refuses: it writes nothing but its error. */
import * as Effect from "effect/Effect"
import * as Cli from "../../src/cli/Cli.ts"

/** Runs a verb with settings. Its files have absolute paths. */
export const verb = (args: ReadonlyArray<string>, settings: Record<string, string> = {}) =>
  Effect.forEach(Object.entries(settings), ([name, value]) => setting(name, value)).pipe(
    Effect.zipRight(Cli.run(["node", "authority", ...args])),
    Effect.scoped,
  )

/** Sets a variable of the environment for the scope. */
const setting = (name: string, value: string) =>
  Effect.acquireRelease(
    Effect.sync(() => void (process.env[name] = value)),
    () => Effect.sync(() => void delete process.env[name]),
  )
