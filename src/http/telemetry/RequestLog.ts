/** Logs requests, without any text from the client, which could contain an API key. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import type { Report } from "../../check/Report.ts"
import type { RequestId } from "../../check/RequestId.ts"
import type { CurrentRequest } from "../CurrentRequest.ts"
import type { Path } from "../Routes.ts"

/** Logs at level `debug`, and only for endpoints. */
export const logAnswer = (
  path: Path | undefined,
  method: string,
  { id, key, report }: CurrentRequest["Type"],
  status: number,
  durationMs: number,
) =>
  Effect.flatMap(FiberRef.get(FiberRef.currentMinimumLogLevel), (level) => {
    if (path === undefined || LogLevel.greaterThan(level, LogLevel.Debug)) return Effect.void
    if (Object.keys(path.endpoints).length === 0) return Effect.void
    return Effect.annotateLogs(Effect.logDebug("Answered a request."), {
      requestId: id,
      endpoint: path.endpoints[method] ?? path.path,
      ...(key !== undefined && { account: key.accountId }),
      status,
      durationMs: Math.round(durationMs * 10) / 10,
      ...(report !== undefined && outcomesOf(report)),
    })
  })

export const logFailure = (cause: Cause.Cause<unknown>, requestId: RequestId) =>
  Effect.annotateLogs(
    Effect.logError(
      "The request failed with status 500. If the database works, please report the stack trace that the field 'cause' contains.",
      cause,
    ),
    { requestId },
  )

const outcomesOf = ({ creditsUsed, outcomes }: Report) => {
  const failed: Record<string, number> = {}
  let checked = 0
  for (const outcome of outcomes) {
    if (outcome._tag === "Checked") checked++
    else failed[outcome.reason] = (failed[outcome.reason] ?? 0) + 1
  }
  return { checked, failed, creditsUsed }
}
