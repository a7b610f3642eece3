/** Answers acts: an envelope around their documents, and the contract's errors for theirs. */
import { createHash } from "node:crypto"
import * as HttpApp from "@effect/platform/HttpApp"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { CurrentAct } from "../../accounts/AuditLog.ts"
import * as Envelope from "../../contract/Envelope.ts"
import { refuse } from "../errorAnswer.ts"

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
  StoreTimeout: () => new Envelope.ServiceUnavailable({ message: Envelope.unavailableMessage }),
}

type Answers = { readonly [Tag in keyof typeof errors]: ReturnType<(typeof errors)[Tag]> }

const answers: { readonly [Tag in keyof Answers]: (error: Messaged) => Answers[Tag] } = errors

interface Tagged<Tag> extends Messaged {
  readonly _tag: Tag
}

export const envelope = <A>(data: A) => ({ success: true as const, data })

/** Answers with the act's document. */
export const answer = <A, Tag extends keyof Answers, R>(act: Effect.Effect<A, Tagged<Tag>, R>) =>
  act.pipe(
    Effect.map(envelope),
    Effect.catchAll((error) => refuse<Answers[Tag]>(answers[error._tag](error))),
  )

/** Like `answer`, for long lists, which the schema's encoder would take long for. */
export const answerJson = <A, Tag extends keyof Answers, R>(
  act: Effect.Effect<A, Tagged<Tag>, R>,
) => Effect.map(answer(act), (body) => HttpServerResponse.unsafeJson(body))

/** What a handler knows of its request. */
interface Asked {
  readonly request: HttpServerRequest
  readonly headers: { readonly "idempotency-key"?: string }
}

/** Like `answer`, for an act that is done at most once under an idempotency key. */
export const answerOnce = <A, Tag extends keyof Answers, R>(
  { headers: { "idempotency-key": key }, request }: Asked,
  act: Effect.Effect<A, Tagged<Tag>, R>,
) =>
  key === undefined
    ? answer(act)
    : Effect.flatMap(Effect.orDie(request.json), (body) =>
        Effect.provideService(answer(act), CurrentAct, {
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
