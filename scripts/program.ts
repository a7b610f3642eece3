/** Runs the program in child processes, for scripts that kill these processes. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import * as Schema from "effect/Schema"

const source = join(import.meta.dirname, "..", "src", "main.ts")

interface Options {
  readonly cwd: string
  readonly settings: Readonly<Record<string, string>>
  /** The program's main file (default: the sources). */
  readonly main?: string
  /** The program and its first arguments, if it is not a main file for this Node. */
  readonly command?: ReadonlyArray<string>
  /** True to discard the service's stderr. By default, this process prints it. */
  readonly isQuiet?: boolean
}

export const programOn = ({
  cwd,
  main = source,
  command: [program = "", ...first] = [process.execPath, main],
  settings,
  isQuiet = false,
}: Options) => {
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: join(cwd, "compiled"),
    AUTHORITY_PORT: "0",
    AUTHORITY_LOG_LEVEL: "error",
    ...settings,
  }

  /** Runs a verb and returns the JSON document that it prints. */
  const verb = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(program, [...first, ...args, "--json"], {
      cwd,
      env,
      maxBuffer: 2 ** 30,
    })
    return JSON.parse(stdout)
  }

  /** Starts the service and waits until it listens. */
  const serve = async (more: Readonly<Record<string, string>> = {}) => {
    const child = spawn(program, [...first, "serve", "--json"], {
      cwd,
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    })
    if (isQuiet) child.stderr.resume()
    else child.stderr.pipe(process.stderr)
    const exited = once(child, "exit")
    /** Resolves with the exit code. */
    const kill = async (signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<number | null> => {
      child.kill(signal)
      const [code] = await exited
      return code
    }
    try {
      const [line] = await once(createInterface(child.stdout), "line", {
        signal: AbortSignal.timeout(60_000),
      })
      return { ...decodeListening(JSON.parse(line)), kill, child }
    } catch (error) {
      await kill()
      throw error
    }
  }

  return {
    verb,
    serve,
    /** Creates an account with a key, and returns the key. */
    newKey: async (account: string, credits = 100_000_000) => {
      await verb("account", "create", account, "--credits", String(credits))
      return decodeKey(await verb("key", "create", "--account", account)).key
    },
    /** Returns the number of the account's credits that open holds have set aside. */
    held: async (account: string) =>
      decodeBalance(await verb("credits", "balance", "--account", account)).held,
    /**
     * Returns the request id and the credits of each charge. Throws when `credits verify` finds a
     * problem.
     */
    charges: async (account: string) => {
      decodeAudit(await verb("credits", "verify"))
      const { entries } = decodeStatement(await verb("credits", "statement", "--account", account))
      return entries
        .filter(({ kind }) => kind === "charge")
        .map(({ amount, requestId }) => [requestId ?? "", -amount] as const)
    },
  }
}

export type Program = ReturnType<typeof programOn>

const decodeKey = Schema.decodeUnknownSync(Schema.Struct({ key: Schema.String }))
const decodeBalance = Schema.decodeUnknownSync(Schema.Struct({ held: Schema.Int }))
const decodeAudit = Schema.decodeUnknownSync(Schema.Struct({ ok: Schema.Literal(true) }))
const decodeListening = Schema.decodeUnknownSync(Schema.Struct({ url: Schema.String }))
const decodeStatement = Schema.decodeUnknownSync(
  Schema.Struct({
    entries: Schema.Array(
      Schema.Struct({
        kind: Schema.String,
        amount: Schema.Int,
        requestId: Schema.NullOr(Schema.String),
      }),
    ),
  }),
)
