/**
 * The fast path answers a batch when its API key and all its figures are cached, and a preview of
 * such a batch. It uses plain
 * function calls and callbacks instead of fibers, from Node's request to the ledger's queue and
 * back. The router answers all other requests, with what the fast path has found out about them.
 * The router gives the same answers as the fast path; a property test checks that.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import { ApiKeys } from "../ApiKeys.ts"
import * as Batch from "../Batch.ts"
import { InternalServerError, internalErrorMessage } from "../contract/Envelope.ts"
import { batchPath, previewPath } from "../contract/Wire.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as BatchAnswer from "../http/BatchAnswer.ts"
import * as Body from "../http/Body.ts"
import * as CacheControl from "../http/CacheControl.ts"
import type { Call } from "../http/Call.ts"
import * as errorAnswer from "../http/errorAnswer.ts"
import * as IdempotencyHeader from "../http/IdempotencyHeader.ts"
import * as LimitHeader from "../http/LimitHeader.ts"
import * as Permission from "../http/Permission.ts"
import { RateLimit } from "../http/RateLimit.ts"
import * as RequestLog from "../http/RequestLog.ts"
import type { Shortcut } from "../http/Server.ts"
import type { Refusal } from "../ledger/Books.ts"
import type { Credits } from "../ledger/Credits.ts"
import { MetricsProvider } from "../providers/MetricsProvider.ts"
import * as Report from "../Report.ts"
import type { StoreTimeout } from "../StoreTimeout.ts"
import * as CheckMeters from "../telemetry/CheckMeters.ts"
import * as FastPreview from "./FastPreview.ts"

/**
 * Makes the fast path. It leaves every call to the router when key store, provider or ledger cannot
 * be called without a fiber. `price` is the price of a successful check.
 */
export const make = (price: Credits) =>
  Effect.gen(function* () {
    const peekKey = (yield* ApiKeys).authenticate.peek
    const peekFigures = (yield* MetricsProvider).known.peek
    const startCharge = (yield* CreditLedger).charge.start
    const rateLimit = yield* RateLimit
    const runFork = Runtime.runFork(yield* Effect.runtime())
    if (peekKey === undefined || peekFigures === undefined || startCharge === undefined) {
      return leaveAllToRouter
    }
    const admit = admitter(peekKey, rateLimit)
    const find = finder(peekFigures)
    const preview = yield* FastPreview.make(price)

    const express: Shortcut = (call) => {
      const admitted = admit(call)
      if (admitted === undefined) return false
      if (call.request.url === previewPath) return preview(call, admitted)
      const batch = find(call, admitted)
      if (batch === undefined) return false
      const { answer, current } = call
      const report = Report.make(batch, batch.outcomes, price)
      const hold = Batch.holdOf(batch, price)

      const answerError = (error: Parameters<typeof errorAnswer.of>[0]) => {
        const { body, headers, status } = errorAnswer.of(error)
        answer(status, headers, body)
      }

      const answerFailure = (cause: Cause.Cause<Refusal | StoreTimeout>) => {
        const refusal = Option.getOrUndefined(Cause.failureOption(cause))
        if (refusal !== undefined) return answerError(errorAnswer.errorOf(refusal, batch))
        runFork(RequestLog.logFailure(cause, current.id))
        answerError(new InternalServerError({ message: internalErrorMessage }))
      }

      const onCharged = (exit: Exit.Exit<Option.Option<string>, Refusal | StoreTimeout>) => {
        const answered = Exit.flatMap(exit, (stored) => reportOf(report, stored))
        if (Exit.isFailure(answered)) return answerFailure(answered.cause)
        current.report = answered.value
        CheckMeters.count(answered.value)
        const { body, headers } = BatchAnswer.of(answered.value)
        answer(200, headers, body)
      }

      startCharge(
        onCharged,
        current.deadline,
        hold,
        Report.chargeOf(report, price),
        Report.storedAnswerOf(hold, report),
      )
      return true
    }
    return express
  })

const leaveAllToRouter: Shortcut = () => false

// Finds the key and the targets of a call, and notes them in `Call.current`. Returns undefined for a
// call that the router must answer.
const admitter =
  (peekKey: NonNullable<ApiKeys["Type"]["authenticate"]["peek"]>, rateLimit: RateLimit["Type"]) =>
  ({ current, request }: Call): FastPreview.Admitted | undefined => {
    const { headers, method, url } = request
    if (method !== "POST" || (url !== batchPath && url !== previewPath) || isSpecial(headers)) {
      return undefined
    }
    const apiKey = peekKey(Redacted.make(headers["x-api-key"]?.toString() ?? ""))
    if (apiKey === undefined) return undefined
    if (Permission.denialOf(apiKey, Permission.scopeOf(url)) !== undefined) return undefined
    // The router answers with 429. That it counts the request again is harmless.
    if (rateLimit.count(apiKey.accountId) !== undefined) return undefined
    current.key = apiKey
    const list = Body.batch.arrived(request)
    if (list === undefined) return undefined
    current.list = list
    if (Either.isLeft(list)) return undefined
    const { targets } = list.right
    return Arr.isNonEmptyReadonlyArray(targets) ? { apiKey, list: list.right, targets } : undefined
  }

// Finds the outcomes of a batch, and notes them in `Call.current`. Returns undefined for a call that
// the router must answer.
const finder =
  (peekFigures: NonNullable<MetricsProvider["Type"]["known"]["peek"]>) =>
  ({ current, request: { headers } }: Call, { apiKey, list, targets }: FastPreview.Admitted) => {
    const idempotencyKey = IdempotencyHeader.fromHeader(headers["idempotency-key"]?.toString())
    const limit = LimitHeader.fromHeader(headers["x-max-credits"]?.toString())
    if (Either.isLeft(idempotencyKey) || Either.isLeft(limit)) return undefined
    const known = peekFigures(targets)
    if (known === undefined) return undefined
    current.known = known
    if (Option.isNone(known)) return undefined
    return {
      ...list,
      accountId: apiKey.accountId,
      apiKeyId: apiKey.id,
      requestId: current.id,
      idempotencyKey: idempotencyKey.right,
      limit: limit.right,
      outcomes: known.value,
    }
  }

/** True for a request that asks for more than the default answer. */
const isSpecial = (headers: Call["request"]["headers"]) =>
  "prefer" in headers || CacheControl.maxAgeMs(headers["cache-control"]) !== undefined

// Returns the report of the stored answer when there is one, else `report`. Dies when the stored
// answer cannot be decoded.
const reportOf = (
  report: Report.Report,
  stored: Option.Option<string>,
): Exit.Exit<Report.Report> => {
  if (Option.isNone(stored)) return Exit.succeed(report)
  try {
    return Exit.succeed(Report.replay(report.urls, stored.value))
  } catch (defect) {
    return Exit.die(defect)
  }
}
