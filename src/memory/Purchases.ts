/** In-memory implementation of the port Purchases, for tests. Nothing survives the process. */
import { randomUUID } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { dayOf } from "../ledger/Usage.ts"
import {
  closing,
  daysOfMonth,
  longestPauseMs,
  opening,
  type Purchase,
  type PurchaseDay,
  purchaseOf,
  Purchases,
  sumsOf,
} from "../Purchases.ts"
import type { Reading } from "../Reconciliation.ts"

export const layer: Layer.Layer<Purchases> = Layer.sync(Purchases, () => {
  /** The calls without an answer. */
  const open = new Map<string, Purchase>()
  let days: ReadonlyArray<PurchaseDay> = []
  const pausedUntil = new Map<string, number>()
  const readings: Array<Reading> = []
  const daysRead = new Set<string>()

  const change = (changed: PurchaseDay) => {
    days = sumsOf([...days, changed])
  }

  return Purchases.of({
    open: (request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const state = {
          month: monthOf(days, request.provider, now),
          pausedUntil: pausedUntil.get(request.provider) ?? 0,
        }
        const purchase = purchaseOf(request, state, randomUUID(), now)
        if (Either.isRight(purchase)) {
          open.set(purchase.right.id, purchase.right)
          change(opening(purchase.right))
        }
        return purchase
      }),
    close: (purchase, cost) =>
      Effect.sync(() => {
        if (open.delete(purchase.id)) change(closing(purchase, cost))
      }),
    pause: (provider, until) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const former = pausedUntil.get(provider) ?? 0
        if (until > former || former > now + longestPauseMs) pausedUntil.set(provider, until)
      }),
    days: ({ since = 0, until = Number.MAX_SAFE_INTEGER }) =>
      Effect.sync(() =>
        days
          .filter(({ day }) => dayOf(since) <= day && day <= dayOf(until - 1))
          .toSorted((a, b) => b.day - a.day || (a.provider < b.provider ? -1 : 1)),
      ),
    totals: (provider, inFlightSince) =>
      Effect.sync(() => {
        const own = days.filter((day) => day.provider === provider)
        const inFlight = [...open.values()].filter(
          (call) => call.provider === provider && call.at > inFlightSince,
        )
        return { provider, ...totalsOf(own, inFlight) }
      }),
    addReading: (reading, { isDaily }) =>
      Effect.sync(() => {
        const key = `${dayOf(reading.at)} ${reading.provider}`
        if (isDaily && daysRead.has(key)) return
        if (isDaily) daysRead.add(key)
        readings.push(reading)
      }),
    readings: ({ limit, provider }) =>
      Effect.sync(() =>
        readings
          .filter((reading) => provider === undefined || reading.provider === provider)
          .toReversed()
          .slice(0, limit),
      ),
    sweep: (until) =>
      Effect.sync(() => {
        for (const [id, { at }] of open) if (at <= until) open.delete(id)
      }),
  })
})

const monthOf = (days: ReadonlyArray<PurchaseDay>, provider: string, now: number) => {
  const [first, last] = daysOfMonth(now)
  const own = days.filter(
    ({ day, ...each }) => each.provider === provider && first <= day && day <= last,
  )
  return {
    rows: sumOf(own, ({ rows }) => rows),
    unknownTargets: sumOf(own, (day) => day.unknownTargets),
  }
}

const totalsOf = (days: ReadonlyArray<PurchaseDay>, inFlight: ReadonlyArray<Purchase>) => {
  const inFlightTargets = sumOf(inFlight, ({ targets }) => targets)
  const unknownCalls = sumOf(days, (day) => day.unknownCalls)
  return {
    calls: sumOf(days, ({ calls }) => calls) - unknownCalls,
    rows: sumOf(days, ({ rows }) => rows),
    cost: sumOf(days, ({ cost }) => cost ?? 0),
    unknownCalls: unknownCalls - inFlight.length,
    unknownTargets: sumOf(days, (day) => day.unknownTargets) - inFlightTargets,
    inFlightCalls: inFlight.length,
    inFlightTargets,
  }
}

const sumOf = <A>(items: ReadonlyArray<A>, of: (item: A) => number) =>
  items.reduce((all, item) => all + of(item), 0)
