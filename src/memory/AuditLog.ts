/** In-memory implementation of the port AuditLog, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Actor, AuditLog, CurrentRequest, type FormerAct } from "../AuditLog.ts"
import { type AuditLine, cut } from "../ledger/AuditLine.ts"

/** The stores in memory share it, like `KeyRecords`. */
export const layer: Layer.Layer<AuditLog> = Layer.sync(AuditLog, () => {
  const lines = new Array<AuditLine>()
  const requests = new Map<string, ReadonlyArray<FormerAct>>()

  return AuditLog.of({
    append: ({ action, detail, subject }) =>
      Effect.gen(function* () {
        const [actor, at] = [cut(yield* Actor), yield* Clock.currentTimeMillis]
        const request = yield* CurrentRequest
        if (request !== undefined) {
          const { fingerprint, key } = request
          const former = { action, fingerprint, rowId: subject }
          requests.set(key, [...(requests.get(key) ?? []), former])
        }
        const sequence = lines.length + 1
        lines.push({ sequence, at, actor, action, subject: cut(subject), detail })
      }),

    doneUnder: (key) => Effect.sync(() => requests.get(key) ?? []),

    list: ({ before = Number.POSITIVE_INFINITY, limit }) =>
      Effect.sync(() =>
        lines
          .filter(({ sequence }) => sequence < before)
          .slice(-limit)
          .reverse(),
      ),
  })
})
