/**
 * The handlers of the administration's endpoints. Each puts the document of an act into an
 * envelope, or turns the error of an act into one of the contract.
 */
import { createHash } from "node:crypto"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApp from "@effect/platform/HttpApp"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as AccountActs from "../../accounts/AccountActs.ts"
import * as AuditLog from "../../accounts/AuditLog.ts"
import { AdminApi } from "../../contract/AdminApi.ts"
import * as Envelope from "../../contract/Envelope.ts"
import { answerHistory, makeOneByOne } from "../handlers.ts"
import * as KeyActs from "../../accounts/KeyActs.ts"
import { FigureHistory } from "../../providers/figures/FigureHistory.ts"
import {
  type Circuit,
  MetricsProvider,
  type ProviderStatus,
  quotaDocumentOf,
  reasonOf,
  statusInTime,
} from "../../providers/MetricsProvider.ts"
import * as CostReport from "../../providers/costs/CostReport.ts"
import { isoTime } from "../../accounts/TimeSpan.ts"
import { refuse, unavailable } from "../errorAnswer.ts"

interface Messaged {
  readonly message: string
}
const notFound = ({ message }: Messaged) => new Envelope.NotFound({ message })
const contradiction = ({ message }: Messaged) => new Envelope.Contradiction({ message })

const errors = {
  AccountNotFound: notFound,
  ApiKeyNotFound: notFound,
  AccountExists: contradiction,
  GrantTooLarge: contradiction,
  CorrectionTooLarge: contradiction,
  ActKeyReused: ({ message }: Messaged) => new Envelope.UnprocessableContent({ message }),
  StoreTimeout: unavailable,
}

type Answers = { readonly [Tag in keyof typeof errors]: ReturnType<(typeof errors)[Tag]> }

const answers: { readonly [Tag in keyof Answers]: (error: Messaged) => Answers[Tag] } = errors

interface Tagged<Tag> extends Messaged {
  readonly _tag: Tag
}

const envelope = <A>(data: A) => ({ success: true as const, data })

export const answer = <A, Tag extends keyof Answers, R>(act: Effect.Effect<A, Tagged<Tag>, R>) =>
  act.pipe(
    Effect.map(envelope),
    Effect.catchAll((error) => refuse<Answers[Tag]>(answers[error._tag](error))),
  )

/** Like `answer`, for long lists, which the schema's encoder would encode slowly. */
const answerJson = <A, Tag extends keyof Answers, R>(act: Effect.Effect<A, Tagged<Tag>, R>) =>
  Effect.map(answer(act), (body) => HttpServerResponse.unsafeJson(body))

interface Asked {
  readonly request: HttpServerRequest
  readonly headers: { readonly "idempotency-key"?: string }
}

/** Like `answer`, for an act that is done at most once under an idempotency key. */
const answerOnce = <A, Tag extends keyof Answers, R>(
  { headers: { "idempotency-key": key }, request }: Asked,
  act: Effect.Effect<A, Tagged<Tag>, R>,
) =>
  key === undefined
    ? answer(act)
    : Effect.flatMap(Effect.orDie(request.json), (body) =>
        Effect.provideService(answer(act), AuditLog.CurrentAct, {
          key,
          fingerprint: fingerprintOf(request, body),
          onRepeat,
        }),
      )

const onRepeat = HttpApp.appendPreResponseHandler((_, response) =>
  Effect.succeed(
    HttpServerResponse.setHeader(
      HttpServerResponse.setStatus(response, 200),
      "idempotent-replayed",
      "true",
    ),
  ),
)

const fingerprintOf = ({ method, url }: HttpServerRequest, body: unknown) =>
  createHash("sha256")
    .update(JSON.stringify([method, url, body]))
    .digest("hex")

const accounts = HttpApiBuilder.group(AdminApi, "accounts", (handlers) =>
  handlers
    .handleRaw("accounts", ({ urlParams: { search: text, ...page } }) =>
      answerJson(AccountActs.list({ text, ...page })),
    )
    .handle("createAccount", (asked) => answerOnce(asked, AccountActs.create(asked.payload)))
    .handle("account", ({ path }) => answer(AccountActs.show(path.name)))
    .handle("updateAccount", ({ path, payload: { suspended } }) =>
      answer(suspended ? AccountActs.suspend(path.name) : AccountActs.resume(path.name)),
    )
    .handle("changeCredits", (asked) => {
      const { amount, note } = asked.payload
      const account = asked.path.name
      return amount > 0
        ? answerOnce(asked, AccountActs.grant({ account, amount, note }))
        : answerOnce(asked, AccountActs.correct({ account, amount: -amount, note }))
    })
    .handleRaw("statement", ({ path, urlParams }) =>
      answerJson(AccountActs.statement(path.name, urlParams)),
    ),
)

const keys = HttpApiBuilder.group(AdminApi, "keys", (handlers) =>
  handlers
    .handle("keys", ({ urlParams: { search: text, ...page } }) =>
      answer(KeyActs.search({ text, ...page })),
    )
    .handle("accountKeys", ({ path, urlParams }) => answer(KeyActs.list(path.name, urlParams)))
    .handle("createKey", (asked) =>
      answerOnce(asked, KeyActs.create({ account: asked.path.name, ...asked.payload })),
    )
    .handle("updateKey", ({ path, payload }) => answer(KeyActs.update(path.id, payload)))
    .handle("rotateKey", (asked) =>
      answerOnce(asked, KeyActs.rotate({ ...asked.path, ...asked.payload })),
    )
    .handle("revokeKey", ({ path }) => answer(KeyActs.revoke(path.id))),
)

const figures = HttpApiBuilder.group(AdminApi, "figures", (handlers) =>
  Effect.zipWith(FigureHistory, makeOneByOne, (history, oneByOne) =>
    handlers.handleRaw("adminHistory", answerHistory(history, "operator", oneByOne)),
  ),
)

const provider = HttpApiBuilder.group(AdminApi, "provider", (handlers) =>
  Effect.gen(function* () {
    const { circuits } = yield* MetricsProvider
    return handlers
      .handle("providerStatus", () =>
        circuits.pipe(
          Effect.flatMap(Effect.forEach(stateOf, { concurrency: "unbounded" })),
          Effect.map((providers) => envelope({ providers })),
        ),
      )
      .handle("providerReport", ({ urlParams: { reconcile, ...question } }) =>
        circuits.pipe(
          Effect.flatMap((vendors) => CostReport.report(question, reconcile && vendors)),
          answer,
        ),
      )
  }),
)

export const circuitOf = (circuit: Circuit) => {
  const { isExhausted, openReason } = circuit
  const state = openReason === undefined ? "closed" : isExhausted ? "exhausted" : "open"
  return { circuit: state, reason: reasonOf(circuit) ?? null } as const
}

export const errorsOf = ({ calls }: Circuit) =>
  calls.errors.map((error) => ({ ...error, at: isoTime(error.at) }))

const stateOf = (circuit: Circuit) =>
  statusInTime(circuit).pipe(
    Effect.either,
    Effect.map((said) => {
      const { calls, provider } = circuit
      const { index = null, quota } = Either.getOrElse(said, (): ProviderStatus => ({}))
      return {
        provider,
        ...circuitOf(circuit),
        callsInFlight: calls?.inFlight ?? null,
        callLimit: calls?.limit ?? null,
        latencyMs: calls?.latencyMs ?? null,
        errors: errorsOf(circuit),
        quota: quotaDocumentOf(quota),
        index,
        statusError: Either.isLeft(said) ? said.left.message : null,
      } as const
    }),
  )

const usage = HttpApiBuilder.group(AdminApi, "usage", (handlers) =>
  handlers.handleRaw("adminUsage", ({ urlParams }) => answerJson(AccountActs.usage(urlParams))),
)

const audit = HttpApiBuilder.group(AdminApi, "audit", (handlers) =>
  handlers.handle("audit", ({ urlParams }) => answer(AuditLog.entries(urlParams))),
)

const document = HttpApiBuilder.group(AdminApi, "document", (handlers) =>
  handlers.handle("adminDocument", () =>
    Effect.promise(async () => {
      const { fromApi } = await import("@effect/platform/OpenApi")
      return fromApi(AdminApi)
    }),
  ),
)

export const layer = Layer.mergeAll(accounts, keys, figures, provider, usage, audit, document)
