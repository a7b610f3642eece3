/** Acts of the administration: each is done at most once under an idempotency key. */
import { createHash } from "node:crypto"
import { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { AuditLog, CurrentAct, type FormerAct } from "../AuditLog.ts"
import { UnprocessableContent } from "../contract/Envelope.ts"
import { refuse } from "../http/errorAnswer.ts"
import * as IdempotencyHeader from "../http/IdempotencyHeader.ts"

/** What `once` did: the change now, or before under the same idempotency key. */
export type Done<A> =
  | { readonly isRepeat: false; readonly value: A }
  | { readonly isRepeat: true; readonly rowId: string }

/**
 * Does a change that appends a line with this action. Under an idempotency key that was used for
 * the same request, returns the id of what was changed then. Fails with 400 when the key is not
 * valid, and with 422 when it was used for another request.
 */
export const once = <A, E, R>(action: string, change: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest
    const key = yield* IdempotencyHeader.fromHeader(request.headers["idempotency-key"])
    if (key === undefined) return doneNow(yield* change)
    const { doneUnder } = yield* AuditLog
    const current = { key, fingerprint: fingerprintOf(request, yield* Effect.orDie(request.json)) }
    const former = Effect.flatMap(doneUnder(key), (acts) =>
      acts.some(({ fingerprint }) => fingerprint !== current.fingerprint)
        ? refuse(new UnprocessableContent({ message: usedBefore }))
        : Effect.succeed(acts.find((one) => one.action === action)),
    )
    const before = yield* former
    if (before !== undefined) return doneBefore(before)
    return yield* change.pipe(
      Effect.provideService(CurrentAct, current),
      Effect.map(doneNow),
      // A request with the same key may have done the act meanwhile, so that this one was refused.
      Effect.catchAllCause((cause) =>
        Effect.flatMap(former, (act) =>
          act === undefined ? Effect.failCause(cause) : Effect.succeed(doneBefore(act)),
        ),
      ),
    )
  })

const doneNow = <A>(value: A): Done<A> => ({ isRepeat: false, value })
const doneBefore = ({ rowId }: FormerAct): Done<never> => ({ isRepeat: true, rowId: rowId ?? "" })

const usedBefore =
  "This Idempotency-Key was used with another request; use a new key for a new request."

const fingerprintOf = ({ method, url }: HttpServerRequest, body: unknown) =>
  createHash("sha256")
    .update(JSON.stringify([method, url, body]))
    .digest("hex")

/** The answer to a repeat. */
export const repeated = (data: object) =>
  HttpServerResponse.unsafeJson(
    { success: true, data },
    { headers: { "idempotent-replayed": "true" } },
  )
