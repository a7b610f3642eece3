/** Runs a verb in the test's process, which is much faster than starting the program. */
import { openSync } from "node:fs"
import { devNull } from "node:os"
import { Writable } from "node:stream"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Cli from "../../src/cli/Cli.ts"
import * as ExitStatus from "../../src/cli/ExitStatus.ts"
import { documentOf, stateFolder } from "./Program.ts"

/**
 * Runs a verb in a folder with these settings only. Returns the exit code and the texts that the
 * program would print. The verb may not wait for a signal.
 */
export const verb = (
  cwd: string,
  args: ReadonlyArray<string>,
  settings: Record<string, string> = {},
) =>
  Effect.gen(function* () {
    const stdout = new Output()
    const stderr = new Output()
    yield* inFolder(cwd)
    yield* replaced("env", {
      PATH: process.env["PATH"],
      XDG_STATE_HOME: stateFolder(cwd),
      ...settings,
    })
    yield* replaced("stdout", stdout)
    yield* replaced("stderr", stderr)
    yield* Effect.addFinalizer(() => Effect.sync(() => void (process.exitCode = undefined)))
    const console = yield* Console.consoleWith(Effect.succeed)
    const exit = yield* Cli.run(args).pipe(
      ExitStatus.printFailure,
      Effect.withConsole({
        ...console,
        error: (text: unknown) => Effect.sync(() => void stderr.write(`${text}\n`)),
      }),
      Effect.exit,
    )
    const code = yield* Effect.async<number>((resume) =>
      ExitStatus.teardown(exit, (code) => resume(Effect.succeed(code))),
    )
    return { code, stdout: stdout.text, stderr: stderr.text }
  }).pipe(Effect.scoped, oneAtATime)

/** Runs a verb with `--json` and returns its document. Fails if the verb prints an error. */
export const document = (cwd: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(verb(cwd, [...args, "--json"]), documentOf(args))

/**
 * The verbs run one at a time, because they would share the folder and the streams of this process.
 */
const oneAtATime = Effect.unsafeMakeSemaphore(1).withPermits(1)

/** The null device, which is neither a file nor a terminal. */
const nowhere = openSync(devNull, "w")

/** Collects what the program prints. */
class Output extends Writable {
  readonly fd = nowhere
  text = ""
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void) {
    this.text += chunk.toString()
    done()
  }
}

const inFolder = (cwd: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.cwd()
      process.chdir(cwd)
      return before
    }),
    (before) => Effect.sync(() => process.chdir(before)),
  )

/** Replaces a property of `process` until the scope ends. */
const replaced = (name: "env" | "stdout" | "stderr", value: unknown) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = Object.getOwnPropertyDescriptor(process, name)
      Object.defineProperty(process, name, { value, configurable: true, writable: true })
      return before
    }),
    (before) => Effect.sync(() => before && Object.defineProperty(process, name, before)),
  )
