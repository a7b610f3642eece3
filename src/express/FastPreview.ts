/** The part of the fast path that answers previews. It reads the balance, and holds nothing. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type { AccountKey } from "../ApiKeys.ts"
import type { UrlList } from "../Batch.ts"
import {
  InternalServerError,
  internalErrorMessage,
  ServiceUnavailable,
  unavailableMessage,
} from "../contract/Envelope.ts"
import { CreditLedger } from "../CreditLedger.ts"
import type { Call } from "../http/Call.ts"
import * as errorAnswer from "../http/errorAnswer.ts"
import * as PreviewAnswer from "../http/PreviewAnswer.ts"
import * as RequestLog from "../http/RequestLog.ts"
import * as Balance from "../ledger/Balance.ts"
import type { Credits } from "../ledger/Credits.ts"
import { MetricsProvider } from "../providers/MetricsProvider.ts"
import * as Preview from "../Preview.ts"
import type { Target } from "../Target.ts"

/** A request with a valid key and at least one target. */
export interface Admitted {
  readonly apiKey: AccountKey
  readonly list: UrlList
  readonly targets: NonEmptyReadonlyArray<Target>
}

/** Returns a function that answers a preview, or returns false to leave it to the router. */
export const make = (price: Credits) =>
  Effect.gen(function* () {
    const peekProspects = (yield* MetricsProvider).prospects.peek
    const startBalance = (yield* CreditLedger).balance.start
    const runFork = Runtime.runFork(yield* Effect.runtime())

    return ({ answer, current }: Call, { apiKey, list, targets }: Admitted): boolean => {
      const hasBudget = (apiKey.budget ?? null) !== null
      const prospects = hasBudget ? undefined : peekProspects?.(targets)
      if (prospects === undefined || startBalance === undefined) return false
      const preview = Preview.make(list, prospects, price)
      const refuse = (error: Parameters<typeof errorAnswer.of>[0]) => {
        const { body, headers, status } = errorAnswer.of(error)
        answer(status, headers, body)
      }
      const onFailure = (cause: Cause.Cause<unknown>) => {
        if (Option.isSome(Cause.failureOption(cause))) {
          return refuse(new ServiceUnavailable({ message: unavailableMessage }))
        }
        runFork(RequestLog.logFailure(cause, current.id))
        refuse(new InternalServerError({ message: internalErrorMessage }))
      }
      const onSuccess = (balance: Balance.Funds) => {
        const body = JSON.stringify(PreviewAnswer.of(preview, Balance.available(balance)))
        const length = String(Buffer.byteLength(body))
        answer(200, { "content-type": "application/json", "content-length": length }, body)
      }
      startBalance(Exit.match({ onFailure, onSuccess }), current.deadline, apiKey.accountId)
      return true
    }
  })
