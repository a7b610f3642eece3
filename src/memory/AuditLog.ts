/** In-memory implementation of the port AuditLog, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Act, Actor, AuditLog, CurrentRequest, type FormerAct } from "../AuditLog.ts"
import { breakOf } from "../ledger/Audit.ts"
import * as AuditLine from "../ledger/AuditLine.ts"

const decode = Schema.decodeSync(AuditLine.StoredLine)

export const layer: Layer.Layer<AuditLog> = Layer.sync(AuditLog, () => {
  const lines = new Array<AuditLine.Encoded>()
  const requests = new Map<string, ReadonlyArray<FormerAct>>()
  let log = AuditLine.emptyLog

  return AuditLog.of({
    append: (act) =>
      Effect.gen(function* () {
        const [actor, at] = [yield* Actor, yield* Clock.currentTimeMillis]
        const none = { rowTable: null, rowId: null, state: null, granted: null }
        const request = yield* CurrentRequest
        if (request !== undefined) {
          const { fingerprint, key } = request
          const former = { action: act.action, fingerprint, rowId: act.subject }
          requests.set(key, [...(requests.get(key) ?? []), former])
        }
        const [head, line] = AuditLine.seal(log, { ...none, ...act, actor, at })
        log = head
        lines.push(line)
      }),

    doneUnder: (key) => Effect.sync(() => requests.get(key) ?? []),

    list: ({ before = Number.POSITIVE_INFINITY, limit }) =>
      Effect.sync(() =>
        lines
          .filter(({ sequence }) => sequence < before)
          .slice(-limit)
          .reverse()
          .map((line) => {
            const { action, actor, at, detail, sequence, subject } = decode(line)
            return { sequence, at, actor, action, subject, detail }
          }),
      ),

    verify: Effect.sync(() => ({
      lines: lines.length,
      problems: lines.flatMap((line, i) => {
        const hash = AuditLine.chainHash(lines[i - 1]?.hash ?? AuditLine.emptyLog.head, line)
        return breakOf("line", i + 1, line, hash) ?? []
      }),
    })),
  })
})

/** Appends a line to the program's audit log, if it has one. */
export const appender = Effect.map(
  Effect.serviceOption(AuditLog),
  (log) => (act: Act) =>
    Option.match(log, { onNone: () => Effect.void, onSome: ({ append }) => append(act) }),
)

export type Append = Effect.Effect.Success<typeof appender>
