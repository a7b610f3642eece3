/** The second process of `authority doctor --prove`: how the first one runs it, and what it does. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schema from "effect/Schema"
import { AccountId } from "../Account.ts"
import * as ConnectionFaults from "../prove/ConnectionFaults.ts"
import { Outcome } from "../prove/Traffic.ts"
import { line } from "./Output.ts"
import { CannotProve, databaseUrl, type Job, servingLedgerOn, traffic } from "./proveMember.ts"

/** The line on the second process's stdin. */
const JobLine = Schema.parseJson(
  Schema.Struct({
    name: Schema.String,
    accounts: Schema.Array(AccountId),
    seconds: Schema.Number,
  }),
)

/** The lines on the second process's stdout: each outcome, and last how many answers got lost. */
const ReportLine = Schema.parseJson(Schema.Union(Outcome, Schema.Struct({ lost: Schema.Number })))

const encodeJob = Schema.encodeSync(JobLine)
const encodeReport = Schema.encodeSync(ReportLine)
const decodeReport = Schema.decodeUnknownSync(ReportLine)

/** The words that start the program as the second process, in place of this process's words. */
const words = ["doctor", "--prove", "--second"]

/** Starts this program a second time, and returns how many answers got lost there. */
export const runSecond = (job: Job, report: (outcome: Outcome) => void) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const [, script = ""] = process.argv
      // Deno has no node:sea.
      const isSea = process.getBuiltinModule("node:sea")?.isSea() === true
      const program = isSea ? [] : [...process.execArgv, script]
      return spawn(process.execPath, [...program, ...words])
    }),
    (child) =>
      Effect.tryPromise({
        try: async () => {
          let lost: number | undefined
          const ended = once(child, "close")
          const complaint = text(child.stderr)
          child.stdin.write(`${encodeJob(job)}\n`)
          for await (const each of createInterface({ input: child.stdout })) {
            const told = decodeReport(each)
            if ("lost" in told) lost = told.lost
            else report(told)
          }
          await ended
          if (lost === undefined) throw new Error((await complaint).trim() || "it was killed")
          return lost
        },
        catch: (error) =>
          new CannotProve({ message: `the second process failed: ${String(error)}` }),
      }),
    (child) => Effect.sync(() => child.kill("SIGKILL")),
  )

/** Does the job on stdin. Ends when the first process ends. */
export const second: Effect.Effect<void, Error> = Effect.gen(function* () {
  const lines = createInterface({ input: process.stdin })
  lines.once("close", () => process.exit(1))
  const first = yield* Effect.promise(() => once(lines, "line"))
  const job = yield* Schema.decodeUnknown(Schema.Tuple(JobLine))(first)
  const faults = ConnectionFaults.make()
  const report = (outcome: Outcome) => void process.stdout.write(`${encodeReport(outcome)}\n`)
  const lost = yield* traffic(faults, job[0], report).pipe(
    Effect.provide(servingLedgerOn(yield* databaseUrl, job[0].name, faults)),
    Logger.withMinimumLogLevel(LogLevel.None),
  )
  yield* line(encodeReport({ lost }))
  lines.removeAllListeners("close").close()
})
