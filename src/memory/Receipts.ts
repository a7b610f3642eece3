/** The receipts in memory, for tests. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Claim, KeyReused, Receipts, retentionMs, StillInFlight } from "../Receipts.ts"

interface Record {
  readonly claim: Claim
  readonly body: string | undefined
  readonly expiresAt: number
}

export const layer = (options: { readonly lease: Duration.DurationInput }): Layer.Layer<Receipts> =>
  Layer.sync(Receipts, () => {
    const records = new Map<string, Record>()
    const idOf = ({ accountId, key }: Claim) => JSON.stringify([accountId, key])
    const isOwner = (claim: Claim) => records.get(idOf(claim))?.claim.requestId === claim.requestId

    return Receipts.of({
      claim: (claim) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const former = records.get(idOf(claim))
          if (former === undefined || former.expiresAt <= now) {
            const expiresAt = now + Duration.toMillis(options.lease)
            records.set(idOf(claim), { claim, body: undefined, expiresAt })
            return undefined
          }
          if (former.claim.fingerprint !== claim.fingerprint) return yield* new KeyReused()
          if (former.body !== undefined) return former.body
          if (former.claim.requestId !== claim.requestId) return yield* new StillInFlight()
          return undefined
        }),

      keep: ({ body, claim }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (!isOwner(claim)) return false
          records.set(idOf(claim), { claim, body, expiresAt: now + retentionMs })
          return true
        }),

      release: (claim) =>
        Effect.sync(() => {
          // An answer that is there stays, whatever happened after it.
          if (isOwner(claim) && records.get(idOf(claim))?.body === undefined) {
            records.delete(idOf(claim))
          }
        }),

      expire: Effect.map(Clock.currentTimeMillis, (now) => {
        const over = [...records].filter(([, { expiresAt }]) => expiresAt <= now)
        for (const [id] of over) records.delete(id)
        return over.length
      }),
    })
  })
