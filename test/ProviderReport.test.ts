import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CreditLedger } from "../src/CreditLedger.ts"
import { within } from "../src/Deadline.ts"
import * as MemoryAccounts from "../src/memory/Accounts.ts"
import * as MemoryApiKeys from "../src/memory/ApiKeys.ts"
import * as MemoryCreditLedger from "../src/memory/CreditLedger.ts"
import * as MemoryPurchases from "../src/memory/Purchases.ts"
import { ProviderError, type Quota } from "../src/MetricsProvider.ts"
import * as ProviderReport from "../src/ProviderReport.ts"
import { Purchases } from "../src/Purchases.ts"
import { newAccountWith } from "../scripts/support/accounts.ts"
import { credits, newHold } from "../scripts/support/ledger.ts"

const ledger = Layer.mergeAll(
  Layer.provideMerge(MemoryApiKeys.layer, MemoryAccounts.layer),
  MemoryCreditLedger.layer({ lease: "1 minute" }),
)

const program = Layer.provideMerge(ProviderReport.layer, Layer.merge(ledger, MemoryPurchases.layer))

const dayMs = 86_400_000
const day = Date.UTC(2026, 10, 23)

const buy = (provider: string, targets: number, rows: number | null, cost: number | null = null) =>
  Effect.gen(function* () {
    const { close, open } = yield* Purchases
    const purchase = yield* open({ provider, targets })
    if (rows === null) return
    yield* close(purchase, { state: "answered", rows, cost, isReported: cost !== null })
  })

const sell = (amount: number, known: number) =>
  Effect.gen(function* () {
    const { charge } = yield* CreditLedger
    const id = yield* newAccountWith(100)
    yield* charge(newHold(id, amount), { amount: credits(amount), urls: amount, known })
  })

const report = (question: ProviderReport.Question = {}) =>
  Effect.flatMap(ProviderReport.ProviderReport, (service) => service.report(question))

const reconcile = (provider: string, quota: Partial<Quota> | undefined, isDaily = false) =>
  Effect.gen(function* () {
    const { reconcile } = yield* ProviderReport.ProviderReport
    const full = { unit: "rows", allotted: 3000, left: 3000, resetsAt: null, ...quota }
    const status = Effect.succeed(quota === undefined ? {} : { quota: full })
    const [reading] = yield* reconcile([{ provider, status }], { isDaily })
    return reading
  })

const unbought = {
  provider: null,
  calls: null,
  targets: null,
  rowsBought: null,
  cost: null,
  unknown: null,
}
const unsold = { answeredFromCache: null, creditsCharged: null }

describe("the report of the purchases", () => {
  it.effect("what was sold stands in the row of the only vendor, or in a row of its own", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(day - dayMs)
      yield* sell(9, 9)
      yield* TestClock.setTime(day)
      yield* buy("moz", 10, 8, 80_000)
      yield* buy("moz", 5, null)
      yield* sell(8, 1)
      yield* TestClock.setTime(day + dayMs)
      yield* buy("moz", 3, 3)
      yield* buy("http", 2, 2)
      yield* sell(6, 1)
      const first = { day: "2026-11-22", ...unbought, answeredFromCache: 9, creditsCharged: 9 }
      const second = {
        provider: "moz",
        day: "2026-11-23",
        calls: 2,
        targets: 15,
        rowsBought: 8,
        cost: 0.08,
        unknown: 1,
        answeredFromCache: 1,
        creditsCharged: 8,
      }
      const rest = { day: "2026-11-24", ...unbought, answeredFromCache: 1, creditsCharged: 6 }
      const of = (provider: string, rows: number) => ({
        provider,
        day: "2026-11-24",
        calls: 1,
        targets: rows,
        rowsBought: rows,
        cost: null,
        unknown: 0,
        ...unsold,
      })
      const { rows } = yield* report()
      assert.deepStrictEqual(rows, [first, second, of("http", 2), of("moz", 3), rest])
      assert.deepStrictEqual((yield* report({ limit: 1 })).rows, [rest])
      const until = { since: day + 1, until: day + dayMs }
      assert.deepStrictEqual((yield* report(until)).rows, [second])
    }).pipe(Effect.provide(program)),
  )

  it.effect("a program that bought nothing reports what was sold", () =>
    Effect.gen(function* () {
      yield* sell(6, 1)
      assert.deepStrictEqual(yield* report(), {
        rows: [{ day: "1970-01-01", ...unbought, answeredFromCache: 1, creditsCharged: 6 }],
        reconciliations: [],
      })
    }).pipe(Effect.provide(program)),
  )

  it.live("a ledger that does not answer by the deadline is a StoreTimeout", () =>
    Effect.gen(function* () {
      const silent = Layer.effect(
        CreditLedger,
        Effect.map(CreditLedger, (ledger) => ({ ...ledger, usage: () => Effect.never })),
      ).pipe(Layer.provide(ledger))
      const error = yield* within(20)(Effect.flip(report())).pipe(
        Effect.provide(
          Layer.provide(ProviderReport.layer, Layer.merge(silent, MemoryPurchases.layer)),
        ),
      )
      assert.strictEqual(error._tag, "StoreTimeout")
    }),
  )
})

describe("the comparison with the vendors' counts", () => {
  it.effect("each reading is compared with the one before, in the vendor's unit", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(day)
      assert.deepInclude(yield* reconcile("moz", { left: 2900 }), { state: "first" })
      yield* reconcile("dataforseo", { unit: "USD", allotted: 100, left: 12.34 })
      yield* buy("moz", 10, 10)
      yield* buy("moz", 7, null)
      yield* buy("dataforseo", 10, 10, 40_600)
      yield* TestClock.setTime(day + dayMs)
      const rows = yield* reconcile("moz", { left: 2880 })
      const money = yield* reconcile("dataforseo", { unit: "USD", allotted: 110, left: 22.2994 })
      const times = { since: "2026-11-23T00:00:00.000Z", until: "2026-11-24T00:00:00.000Z" }
      const reconciliations = [
        {
          provider: "dataforseo",
          ...times,
          unit: "USD",
          reported: 0.0406,
          computed: 0.0406,
          unknown: 0,
          difference: 0,
        },
        {
          provider: "moz",
          ...times,
          unit: "rows",
          reported: 20,
          computed: 10,
          unknown: 7,
          difference: 3,
        },
      ]
      assert.deepStrictEqual([money?.reconciliation, rows?.reconciliation], reconciliations)
      const { reconciliations: found } = yield* report({ since: day + dayMs })
      assert.sameDeepMembers([...found], reconciliations)
      assert.deepStrictEqual((yield* report({ until: day + dayMs })).reconciliations, [])
    }).pipe(Effect.provide(program)),
  )

  it.effect("a call in flight explains rows that the vendor counts now or later", () =>
    Effect.gen(function* () {
      const { close, open } = yield* Purchases
      yield* TestClock.setTime(day)
      yield* reconcile("moz", { left: 3000 })
      const purchase = yield* open({ provider: "moz", targets: 9 })
      yield* TestClock.adjust("1 second")
      const during = yield* reconcile("moz", { left: 2991 })
      assert.deepInclude(during?.reconciliation, { reported: 9, computed: 0, difference: 0 })
      yield* close(purchase, { state: "answered", rows: 9, cost: null, isReported: false })
      yield* TestClock.adjust("1 second")
      const after = yield* reconcile("moz", { left: 2991 })
      assert.deepInclude(after?.reconciliation, { reported: 0, computed: 9, difference: 0 })
    }).pipe(Effect.provide(program)),
  )

  it.effect(
    "a call without an answer may be billed after the reading that found it in flight",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(day)
        yield* buy("moz", 9, null)
        yield* TestClock.adjust("1 second")
        yield* reconcile("moz", { left: 3000 })
        yield* TestClock.adjust("2 minutes")
        const late = yield* reconcile("moz", { left: 2991 })
        assert.deepInclude(late?.reconciliation, { reported: 9, unknown: 9, difference: 0 })
        yield* TestClock.adjust("2 minutes")
        const foreign = yield* reconcile("moz", { left: 2990 })
        assert.deepInclude(foreign?.reconciliation, { reported: 1, unknown: 0, difference: 1 })
      }).pipe(Effect.provide(program)),
  )

  it.effect("a vendor without a count, a failed one and a renewed period are not compared", () =>
    Effect.gen(function* () {
      const { reconcile: ask } = yield* ProviderReport.ProviderReport
      assert.deepInclude(yield* reconcile("http", undefined), { state: "uncounted" })
      assert.deepInclude(yield* reconcile("http", { unit: "credits" }), { state: "uncounted" })
      const [failed] = yield* ask([
        {
          provider: "moz",
          status: new ProviderError({ provider: "moz", reason: "Refused", detail: "HTTP 401" }),
        },
      ])
      assert.deepInclude(failed, {
        state: "failed",
        reconciliation: null,
        reason: "moz refused the caller: HTTP 401",
      })
      yield* reconcile("moz", { left: 100, resetsAt: day })
      yield* TestClock.adjust("1 hour")
      const renewed = yield* reconcile("moz", { left: 2999, resetsAt: day + dayMs })
      assert.deepInclude(renewed, { state: "renewed", reconciliation: null })
    }).pipe(Effect.provide(program)),
  )

  it.effect("a vendor that does not say its count is waited for 10 seconds", () =>
    Effect.gen(function* () {
      const { reconcile: ask } = yield* ProviderReport.ProviderReport
      const asked = yield* Effect.fork(ask([{ provider: "moz", status: Effect.never }]))
      yield* TestClock.adjust("10 seconds")
      const reason = "moz did not answer in time: no answer in 10 s"
      assert.deepInclude((yield* asked)[0], { state: "failed", reason })
    }).pipe(Effect.provide(program)),
  )

  it.live("a store that does not answer by the deadline is a StoreTimeout", () =>
    Effect.gen(function* () {
      const silent = Layer.effect(
        Purchases,
        Effect.map(Purchases, (purchases) => ({ ...purchases, totals: () => Effect.never })),
      ).pipe(Layer.provide(MemoryPurchases.layer))
      const error = yield* within(20)(Effect.flip(reconcile("moz", {}))).pipe(
        Effect.provide(Layer.provide(ProviderReport.layer, Layer.merge(ledger, silent))),
      )
      assert.strictEqual(error._tag, "StoreTimeout")
    }),
  )

  it.effect("a vendor is unread until somebody has read its count on this UTC day", () =>
    Effect.gen(function* () {
      const { unread } = yield* ProviderReport.ProviderReport
      const moz = { provider: "moz" }
      yield* TestClock.setTime(day)
      assert.deepStrictEqual(yield* unread([moz]), [moz])
      yield* reconcile("moz", {}, true)
      yield* TestClock.setTime(day + dayMs - 1)
      assert.deepStrictEqual(yield* unread([moz]), [])
      yield* TestClock.setTime(day + dayMs)
      assert.deepStrictEqual(yield* unread([moz]), [moz])
    }).pipe(Effect.provide(program)),
  )
})
