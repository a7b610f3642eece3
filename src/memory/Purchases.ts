/** In-memory implementation of the port Purchases, for tests. Nothing survives the process. */
import { randomUUID } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { dayOf } from "../ledger/Usage.ts"
import {
  daysOfMonth,
  longestPauseMs,
  type Purchase,
  type PurchaseDay,
  purchaseOf,
  Purchases,
} from "../Purchases.ts"

export const layer: Layer.Layer<Purchases> = Layer.sync(Purchases, () => {
  /** The calls without an answer. */
  const open = new Map<string, Purchase>()
  const days = new Map<string, PurchaseDay>()
  const pausedUntil = new Map<string, number>()

  const change = ({ at, provider }: Purchase, changed: (day: PurchaseDay) => PurchaseDay) => {
    const key = `${dayOf(at)} ${provider}`
    days.set(key, changed(days.get(key) ?? { ...nothing, provider, day: dayOf(at) }))
  }

  const monthOf = (provider: string, now: number) => {
    const [first, last] = daysOfMonth(now)
    const own = [...days.values()].filter(
      ({ day, ...each }) => each.provider === provider && first <= day && day <= last,
    )
    const sum = (of: (day: PurchaseDay) => number) => own.reduce((all, day) => all + of(day), 0)
    return { rows: sum(({ rows }) => rows), unknownTargets: sum((day) => day.unknownTargets) }
  }

  return Purchases.of({
    open: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const state = {
          month: monthOf(request.provider, now),
          pausedUntil: pausedUntil.get(request.provider) ?? 0,
        }
        const purchase = purchaseOf(request, state, randomUUID(), now)
        if (Either.isRight(purchase)) {
          open.set(purchase.right.id, purchase.right)
          change(purchase.right, (day) => ({
            ...day,
            calls: day.calls + 1,
            targets: day.targets + purchase.right.targets,
            unknownCalls: day.unknownCalls + 1,
            unknownTargets: day.unknownTargets + purchase.right.targets,
          }))
        }
        return purchase
      }),
    close: (purchase, { cost, rows }) =>
      Effect.sync(() => {
        if (!open.delete(purchase.id)) return
        change(purchase, (day) => ({
          ...day,
          rows: day.rows + rows,
          cost: cost === null ? day.cost : (day.cost ?? 0) + cost,
          unknownCalls: day.unknownCalls - 1,
          unknownTargets: day.unknownTargets - purchase.targets,
        }))
      }),
    pause: (provider, until) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const former = pausedUntil.get(provider) ?? 0
        if (until > former || former > now + longestPauseMs) pausedUntil.set(provider, until)
      }),
    days: ({ since = 0, until = Number.MAX_SAFE_INTEGER }) =>
      Effect.sync(() =>
        [...days.values()]
          .filter(({ day }) => dayOf(since) <= day && day <= dayOf(until - 1))
          .sort((a, b) => b.day - a.day || (a.provider < b.provider ? -1 : 1)),
      ),
    sweep: (until) =>
      Effect.sync(() => {
        for (const [id, { at }] of open) if (at <= until) open.delete(id)
      }),
  })
})

const nothing = { calls: 0, targets: 0, rows: 0, cost: null, unknownCalls: 0, unknownTargets: 0 }
