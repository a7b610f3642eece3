/**
 * The fast path answers a batch when its API key and all its figures are cached. It uses plain
 * function calls and callbacks instead of fibers, from Node's request to the ledger's queue and
 * back. The router answers all other requests. The fast path is off, and the router answers every
 * request, when the ledger is not the SQL ledger or the provider has no cache in memory. The router
 * gives the same answers as the fast path; a property test checks that.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import { ApiKeys } from "../ApiKeys.ts"
import * as Batch from "../Batch.ts"
import * as CachedApiKeys from "../cache/CachedApiKeys.ts"
import { BatchRequest } from "../contract/Api.ts"
import { InternalServerError, internalErrorMessage } from "../contract/Envelope.ts"
import { batchPath } from "../contract/Wire.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as TypeGuard from "../schema/TypeGuard.ts"
import * as BatchAnswer from "../http/BatchAnswer.ts"
import * as Body from "../http/Body.ts"
import { type Current, newRequestId as uniqueRequestId } from "../http/CurrentRequest.ts"
import * as IdempotencyHeader from "../http/IdempotencyHeader.ts"
import * as CheckMeters from "../telemetry/CheckMeters.ts"
import * as Meters from "../telemetry/HttpMeters.ts"
import { RateLimit } from "../http/RateLimit.ts"
import * as ledgerErrors from "../http/ledgerErrors.ts"
import { headersOf } from "../http/refuse.ts"
import type { Request } from "../http/Request.ts"
import * as RequestLog from "../http/RequestLog.ts"
import type { Shortcut } from "../http/Server.ts"
import type { Refusal } from "../ledger/Books.ts"
import type { Credits } from "../ledger/Credits.ts"
import { MetricsProvider } from "../MetricsProvider.ts"
import { recallOf } from "../providers/Recall.ts"
import * as Report from "../Report.ts"
import type { RequestId } from "../RequestId.ts"
import * as SqlCreditLedger from "../sql/CreditLedger.ts"
import * as errorAnswer from "./errorAnswer.ts"
import * as ServerSpan from "../http/ServerSpan.ts"
import type { StoreTimeout } from "../StoreTimeout.ts"
import * as MonotonicClock from "../time/MonotonicClock.ts"

export interface Options {
  /** The price of a successful check, in whole credits. */
  readonly price: Credits
  /** The maximum duration of a request. */
  readonly timeout: Duration.DurationInput
  /**
   * The origins that get CORS headers. Only the HTTP router adds CORS headers, so when this list is
   * not empty, the router answers every request and the fast path of this module is off.
   */
  readonly corsOrigins: ReadonlyArray<string>
  readonly isTraced: boolean
  /** Makes the id of a request. Default: a UUID. */
  readonly newRequestId?: () => RequestId
}

/**
 * Makes the fast path, which runs without a fiber. If the API keys, the provider or the ledger can
 * be used only from a fiber, the fast path leaves every request to the router.
 */
export const make = (
  options: Options,
): Effect.Effect<Shortcut, never, ApiKeys | CreditLedger | MetricsProvider | RateLimit> =>
  Effect.gen(function* () {
    const recallKey = CachedApiKeys.recallOf(yield* ApiKeys)
    const recallFigures = recallOf(yield* MetricsProvider)
    const charge = SqlCreditLedger.chargerOf(yield* CreditLedger)
    if (recallKey === undefined || recallFigures === undefined || charge === undefined) {
      return leaveAllToRouter
    }
    if (options.corsOrigins.length > 0) return leaveAllToRouter
    const rateLimit = yield* RateLimit
    const clock = yield* Effect.clock
    const timeoutMs = Duration.toMillis(options.timeout)
    const { newRequestId = uniqueRequestId } = options
    const log = yield* RequestLog.make
    const runFork = Runtime.runFork(yield* Effect.runtime())
    const startSpan = yield* ServerSpan.make(() => options.isTraced)

    /** Reads a request. Returns undefined for a request that the router must answer. */
    const read = (request: Request) => {
      const { headers, method, url } = request
      if (method !== "POST" || url !== batchPath) return undefined
      const body = Body.isJson(headers["content-type"]) ? request.body : undefined
      // Leave a body above `maxPlainBytes` to the router. Such bodies are rare, and `JSON.parse`,
      // which the fast path uses, could block the process for up to 100 ms.
      if (body === undefined || body.length > Body.maxPlainBytes) return undefined
      const now = clock.unsafeCurrentTimeMillis()
      const apiKey = recallKey(headers["x-api-key"]?.toString() ?? "", now)
      if (apiKey === undefined) return undefined
      const idempotencyKey = IdempotencyHeader.fromHeader(headers["idempotency-key"]?.toString())
      const json = Body.parse(body)
      if (Either.isLeft(idempotencyKey) || !isBatch(json)) return undefined
      const { urls } = json
      const parsed = Batch.parse(urls)
      const targets = Arr.getRights(parsed)
      const outcomes = Arr.isNonEmptyArray(targets) ? recallFigures(targets, now) : undefined
      if (outcomes === undefined) return undefined
      const { accountId } = apiKey
      // Above the rate limit, leave the request to the router, which answers with status 429. The
      // router counts the request a second time. That is harmless: the limit is already exceeded.
      if (rateLimit.count(accountId) !== undefined) return undefined
      const report = Report.make(urls, parsed, outcomes, options.price)
      const deadline = MonotonicClock.unsafeNow(clock) + timeoutMs
      return { accountId, deadline, idempotencyKey: idempotencyKey.right, report, targets }
    }

    const express: Shortcut = (request, response) => {
      const stop = Meters.start("POST", batchPath)
      const batch = read(request)
      if (batch === undefined) return false
      const { accountId, deadline, idempotencyKey, report, targets } = batch
      const current: Current = { id: newRequestId(), account: accountId }
      const finish = log("checkBatch", current)
      const span = startSpan(request)
      const { id: requestId } = current

      const answer = (status: number, json: BatchAnswer.Json, more = noHeaders) => {
        // The client hung up.
        if (response.destroyed) return
        stop(status)
        finish(status)
        const headers = {
          ...more,
          "content-type": "application/json",
          "content-length": String(BatchAnswer.byteLength(json)),
          "cache-control": "no-store",
          "x-request-id": requestId,
        }
        span.end(status, headers)
        response.writeHead(status, headers)
        response.end(json.body, json.isAscii ? "latin1" : "utf8")
      }

      const answerWith = (report: Report.Report) => {
        current.report = report
        CheckMeters.count(report)
        answer(200, BatchAnswer.json(report), report.isReplay ? BatchAnswer.replayed : noHeaders)
      }

      const answerError = (error: Parameters<typeof errorAnswer.of>[0]) => {
        const [status, body] = errorAnswer.of(error)
        answer(status, { body, isAscii: false }, headersOf(error))
      }

      const answerFailure = (cause: Cause.Cause<Refusal | StoreTimeout>) => {
        const refusal = Option.getOrUndefined(Cause.failureOption(cause))
        if (refusal !== undefined) return answerError(ledgerErrors.errorOf(refusal, asked))
        runFork(RequestLog.logFailure(cause, requestId))
        answerError(new InternalServerError({ message: internalErrorMessage }))
      }

      const onCharged = (exit: Exit.Exit<Option.Option<string>, Refusal | StoreTimeout>) => {
        const answered = Exit.flatMap(exit, (stored) => reportOf(report, stored))
        if (Exit.isSuccess(answered)) answerWith(answered.value)
        else answerFailure(answered.cause)
      }

      const { price } = options
      const asked = { accountId, requestId, urls: report.urls, idempotencyKey }
      const hold = Batch.holdOf(asked, targets, price)
      const storedAnswer = Report.storedAnswerOf(hold, report)
      charge(hold, Report.chargeOf(report, price), storedAnswer, deadline, onCharged)
      return true
    }
    return express
  })

/**
 * Returns the report of the stored answer when there is one, else `report`. Dies when the stored
 * answer cannot be decoded.
 */
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

const leaveAllToRouter: Shortcut = () => false

const isBatch = TypeGuard.make(BatchRequest)

const noHeaders: Readonly<Record<string, string>> = {}
