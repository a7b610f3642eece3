/** Acts of the administration: each is done at most once under an idempotency key. */
import { createHash } from "node:crypto"
import * as HttpApp from "@effect/platform/HttpApp"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { AuditLog, CurrentAct } from "../AuditLog.ts"
import { UnprocessableContent } from "../contract/Envelope.ts"
import { refuse } from "../http/errorAnswer.ts"

/** What a handler knows of its request. */
export interface Asked {
  readonly request: HttpServerRequest
  readonly headers: { readonly "idempotency-key"?: string }
}

/**
 * Does a change that appends a line with this action. Under an idempotency key that was used for
 * the same request, reads again what was changed then, by its id, and the answer is that of a
 * repeat. Fails with 422 when the key was used for another request.
 */
export const once = <A, E, R, B, E2, R2>(
  { headers, request }: Asked,
  action: string,
  change: Effect.Effect<A, E, R>,
  again: (rowId: string) => Effect.Effect<B, E2, R2>,
) =>
  Effect.gen(function* () {
    const key = headers["idempotency-key"]
    if (key === undefined) return yield* change
    const { doneUnder } = yield* AuditLog
    const current = { key, fingerprint: fingerprintOf(request, yield* Effect.orDie(request.json)) }
    const unlessDone = <E3, R3>(otherwise: Effect.Effect<A | B, E3, R3>) =>
      Effect.flatMap(
        doneUnder(key),
        (acts): Effect.Effect<A | B, E2 | E3 | UnprocessableContent, R2 | R3> => {
          if (acts.some(({ fingerprint }) => fingerprint !== current.fingerprint))
            return refuse(new UnprocessableContent({ message: usedBefore }))
          const act = acts.find((one) => one.action === action)
          return act === undefined ? otherwise : repeated(again(act.rowId ?? ""))
        },
      )
    return yield* unlessDone(
      change.pipe(
        Effect.provideService(CurrentAct, current),
        // A request with the same key may have done the act meanwhile, so that this one was refused.
        Effect.catchAllCause((cause) => unlessDone(Effect.failCause(cause))),
      ),
    )
  })

const repeated = <A, E, R>(again: Effect.Effect<A, E, R>) =>
  Effect.tap(again, () =>
    HttpApp.appendPreResponseHandler((_, response) => {
      const answer = HttpServerResponse.setStatus(response, 200)
      return Effect.succeed(HttpServerResponse.setHeader(answer, "idempotent-replayed", "true"))
    }),
  )

const usedBefore =
  "This Idempotency-Key was used with another request; use a new key for a new request."

const fingerprintOf = ({ method, url }: HttpServerRequest, body: unknown) =>
  createHash("sha256")
    .update(JSON.stringify([method, url, body]))
    .digest("hex")
