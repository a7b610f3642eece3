/** The handlers of the administration's endpoints. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { type Account, Accounts } from "../Account.ts"
import { AdminApi } from "../contract/AdminApi.ts"
import {
  Contradiction,
  NotFound,
  ServiceUnavailable,
  unavailableMessage,
} from "../contract/Envelope.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as FigureHistory from "../FigureHistory.ts"
import { refuse } from "../http/errorAnswer.ts"
import { noTarget } from "../http/handlers.ts"
import * as Balance from "../ledger/Balance.ts"
import { creditsOf } from "../ledger/Credits.ts"
import {
  type Circuit,
  MetricsProvider,
  type ProviderStatus,
  type Quota,
} from "../MetricsProvider.ts"

const answer = <A>(data: A) => ({ success: true as const, data })

const notFound = ({ message }: { readonly message: string }) => new NotFound({ message })
const contradiction = ({ message }: { readonly message: string }) => new Contradiction({ message })
const unavailable = () => refuse(new ServiceUnavailable({ message: unavailableMessage }))

const accounts = HttpApiBuilder.group(AdminApi, "accounts", (handlers) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger

    const withCredits = ({ id, name }: Account) =>
      Effect.map(Effect.catchAll(ledger.balance(id), unavailable), (balance) => ({
        id,
        name,
        available: creditsOf(Balance.available(balance)),
        ...balance,
      }))

    return handlers
      .handle("createAccount", ({ payload: { credits = creditsOf(0), name } }) =>
        Effect.gen(function* () {
          const { id } = yield* Effect.mapError(accounts.create(name), contradiction)
          if (credits > 0) yield* ledger.grant(id, credits, "opening grant")
          return answer({ account: { id, name }, credits })
        }),
      )
      .handle("account", ({ path: { name } }) =>
        Effect.gen(function* () {
          const account = yield* Effect.mapError(accounts.find(name), notFound)
          return answer({ account: yield* withCredits(account) })
        }),
      )
  }),
)

const figures = HttpApiBuilder.group(AdminApi, "figures", (handlers) =>
  Effect.map(FigureHistory.FigureHistory, (history) =>
    handlers.handle("adminHistory", ({ urlParams: { limit, url = "" } }) =>
      Effect.mapBoth(history.of(url, limit), {
        onFailure: noTarget,
        onSuccess: (found) => answer(FigureHistory.documentOf(found)),
      }),
    ),
  ),
)

const provider = HttpApiBuilder.group(AdminApi, "provider", (handlers) =>
  Effect.map(MetricsProvider, ({ circuits = Effect.succeed([]) }) =>
    handlers.handle("providerStatus", () =>
      circuits.pipe(
        Effect.flatMap(Effect.forEach(stateOf, { concurrency: "unbounded" })),
        Effect.map((providers) => answer({ providers })),
      ),
    ),
  ),
)

const iso = (at: number) => new Date(at).toISOString()

const stateOf = ({ calls, isExhausted, openReason, provider, status }: Circuit) =>
  (status ?? Effect.succeed<ProviderStatus>({})).pipe(
    Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => new Error("no answer in 10 s") }),
    Effect.either,
    Effect.map((said) => {
      const { index = null, quota } = Either.getOrElse(said, (): ProviderStatus => ({}))
      return {
        provider,
        circuit: openReason === undefined ? "closed" : isExhausted ? "exhausted" : "open",
        reason: openReason ?? null,
        callsInFlight: calls?.inFlight ?? null,
        callLimit: calls?.limit ?? null,
        latencyMs: calls?.latencyMs ?? null,
        errors: (calls?.errors ?? []).map((error) => ({ ...error, at: iso(error.at) })),
        quota: quota === undefined ? null : quotaOf(quota),
        index,
        statusError: Either.isLeft(said) ? said.left.message : null,
      } as const
    }),
  )

const quotaOf = ({ allotted, left, resetsAt, unit }: Quota) => ({
  unit,
  allotted,
  left,
  resetsAt: resetsAt === null ? null : iso(resetsAt),
})

const document = HttpApiBuilder.group(AdminApi, "document", (handlers) =>
  handlers.handle("adminDocument", () =>
    Effect.promise(async () => {
      const { fromApi } = await import("@effect/platform/OpenApi")
      return fromApi(AdminApi)
    }),
  ),
)

export const layer = Layer.mergeAll(accounts, figures, provider, document)
