/**
 * Logs a line for each request to an endpoint of the contract, at level `debug`: account, status,
 * duration, and the number of outcomes by reason. The line contains no text from the client, so it
 * cannot leak an API key.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import type { AccountKey } from "../ApiKeys.ts"
import type { Report } from "../Report.ts"
import type { RequestId } from "../RequestId.ts"

/** What the line says of a request. */
interface Answered {
  readonly id: RequestId
  readonly key?: AccountKey
  readonly report?: Report
}

/** Logs the line of an answered request. */
export type RequestLog = (
  endpoint: string | undefined,
  answered: Answered,
  status: number,
  durationMs: number,
) => void

/** Makes the request log. The request log does nothing when the log level excludes `debug`. */
export const make: Effect.Effect<RequestLog> = Effect.gen(function* () {
  const level = yield* FiberRef.get(FiberRef.currentMinimumLogLevel)
  if (LogLevel.greaterThan(level, LogLevel.Debug)) return silent
  const runFork = Runtime.runFork(yield* Effect.runtime())
  const log: RequestLog = (endpoint, { id, key, report }, status, durationMs) => {
    if (endpoint === undefined) return
    runFork(
      Effect.annotateLogs(Effect.logDebug("Answered a request."), {
        requestId: id,
        endpoint,
        ...(key !== undefined && { account: key.accountId }),
        status,
        durationMs: Math.round(durationMs * 10) / 10,
        ...(report !== undefined && outcomesOf(report)),
      }),
    )
  }
  return log
})

/** Logs the cause of a 500. */
export const logFailure = (cause: Cause.Cause<unknown>, requestId: RequestId) =>
  Effect.annotateLogs(
    Effect.logError(
      "The request failed with status 500. If the database works, please report the stack trace that the field 'cause' contains.",
      cause,
    ),
    { requestId },
  )

const silent: RequestLog = () => {}

const outcomesOf = ({ creditsUsed, outcomes }: Report) => {
  const failed: Record<string, number> = {}
  let checked = 0
  for (const outcome of outcomes) {
    if (outcome._tag === "Checked") checked++
    else failed[outcome.reason] = (failed[outcome.reason] ?? 0) + 1
  }
  return { checked, failed, creditsUsed }
}
