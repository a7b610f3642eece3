/**
 * A fake of Moz on a real port that keeps a bill of its own. Each call meets the next fault of a
 * script, and the bill says which calls cost rows although their answer got lost.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"

const { answer, hang, none, nothing, reset, throttled, unavailable } = FakeVendor

const lateReset: FakeVendor.Fault = { ...reset, name: "connection reset after billing" }
const lateHang: FakeVendor.Fault = { ...hang, name: "no answer after billing" }

/** The faults of a call, and whether the vendor bills it. */
export const faults = {
  none: { fault: none, isBilled: true, isAnswered: true },
  unavailable: { fault: unavailable, isBilled: false, isAnswered: true },
  maintenance: { fault: answer(503, ""), isBilled: false, isAnswered: true },
  throttled: { fault: throttled("1"), isBilled: false, isAnswered: true },
  badGateway: { fault: answer(502, ""), isBilled: true, isAnswered: false },
  hang: { fault: hang, isBilled: false, isAnswered: false },
  hangAfterBilling: { fault: lateHang, isBilled: true, isAnswered: false },
  reset: { fault: reset, isBilled: false, isAnswered: false },
  resetAfterBilling: { fault: lateReset, isBilled: true, isAnswered: false },
  malformed: { fault: nothing, isBilled: true, isAnswered: false },
} as const

export type FaultName = keyof typeof faults

/** `next` names the fault of each lookup, counted from 0. The default has no faults. */
export const make = (next: (lookup: number) => FaultName = () => "none") =>
  Effect.gen(function* () {
    const vendor = yield* FakeMoz.make
    const bill = { lookups: 0, targets: 0, rows: 0, rowsWithoutAnswer: 0 }
    vendor.always({
      name: "the script",
      apply: (response, reply, call) => {
        const { method, params } = decodeCall(call.json)
        if (method === "quota.lookup") {
          return FakeVendor.rewrite("the bill", (json) => ({
            ...decodeQuota(json),
            result: { quota: { ...decodeQuota(json).result.quota, used: bill.rows } },
          })).apply(response, reply, call)
        }
        if (method !== "data.site.metrics.fetch.multiple") return none.apply(response, reply, call)
        const targets = params.data.site_queries?.length ?? 0
        const { fault, isAnswered, isBilled } = faults[next(bill.lookups)]
        bill.lookups += 1
        bill.targets += targets
        if (isBilled) bill.rows += targets
        if (isBilled && !isAnswered) bill.rowsWithoutAnswer += targets
        fault.apply(response, reply, call)
      },
    })
    return { vendor, bill, settings: FakeMoz.settings(vendor.url) }
  })

const decodeCall = Schema.decodeUnknownSync(
  Schema.Struct({
    method: Schema.String,
    params: Schema.Struct({
      data: Schema.Struct({ site_queries: Schema.optional(Schema.Array(Schema.Unknown)) }),
    }),
  }),
)

const decodeQuota = Schema.decodeUnknownSync(
  Schema.Struct({
    id: Schema.String,
    jsonrpc: Schema.String,
    result: Schema.Struct({ quota: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }),
  }),
)
