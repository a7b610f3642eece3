/**
 * A line in the log for each request to an endpoint, at the level `debug`: whose it was, how it was
 * answered, and what became of its URLs. It holds no text of the client's, and so no key.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { AccountId } from "../Account.ts"
import type { RequestId } from "../RequestId.ts"
import type { Answer } from "./Answer.ts"
import { BatchResponse } from "./Api.ts"

/** Starts the clock; to be told whose the request is, once that is known, and the answer. */
export type Start = (
  endpoint: string,
  requestId: RequestId,
) => {
  readonly belongsTo: (account: AccountId) => void
  readonly write: (answer: Answer) => Effect.Effect<void>
}

/** Undefined where such a line would not be kept, so that nothing is done for it. */
export const make: Effect.Effect<Start | undefined> = Effect.map(
  FiberRef.get(FiberRef.currentMinimumLogLevel),
  (level) => (LogLevel.lessThanEqual(level, LogLevel.Debug) ? start : undefined),
)

const start: Start = (endpoint, requestId) => {
  const startedAt = performance.now()
  let owner: { readonly account?: AccountId } = {}
  return {
    belongsTo: (account) => {
      owner = { account }
    },
    write: (answer) =>
      Effect.logDebug("Answered.").pipe(
        Effect.annotateLogs({
          requestId,
          endpoint,
          ...owner,
          status: answer.status,
          durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
          ...outcomeOf(answer),
        }),
      ),
  }
}

/** By what the client is told, so that an answer that is given again is logged like the first. */
const outcomeOf = ({ body, status }: Answer) =>
  status !== 200
    ? {}
    : Option.match(decodeBatchResponse(body), {
        onNone: () => ({}),
        onSome: ({ data, quota }) => {
          const failed: Record<string, number> = {}
          for (const { reason } of data.failedUrls) failed[reason] = (failed[reason] ?? 0) + 1
          return { checked: data.successUrls.length, failed, creditsUsed: quota.creditsUsed }
        },
      })

const decodeBatchResponse = Schema.decodeOption(Schema.parseJson(BatchResponse))
