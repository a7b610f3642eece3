/**
 * A fake Moz that keeps a bill of its own. A seed chooses a fault for about a fifth of the calls:
 * some strike before the vendor bills the call, some after.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { Random } from "../simulation/Random.ts"

/** What the vendor did with the calls for figures, by its own records. */
interface Bill {
  calls: number
  /** The targets of these calls. */
  targets: number
  /** What the vendor counts as used. */
  rows: number
  /** The part of `rows` for calls whose caller knows what it pays. */
  clearRows: number
  /** The calls whose caller cannot know what it pays, and their targets. */
  unknownCalls: number
  unknownTargets: number
  /** How often each fault struck. */
  readonly faults: Record<string, number>
}

interface Trouble {
  readonly fault: FakeVendor.Fault
  /** How often it strikes in a thousand calls. */
  readonly perMille: number
  /** How often it may strike in all. Refusals open the circuit when there are many. */
  readonly max?: number
  /** `perhaps`: in half of the calls, the vendor bills before the fault strikes. */
  readonly isBilled: boolean | "perhaps"
  /** True when the caller knows what it pays. */
  readonly isClear: boolean
}

/** Moz has no figures for these pages. An error is not a row. */
const isUnknown = (page: string) => page.startsWith("unknown")

const right = FakeMoz.siteError(isUnknown)

const slow: FakeVendor.Fault = {
  name: "slow answer",
  apply: (...call) => void setTimeout(() => right.apply(...call), 100),
}

const unclear = { isBilled: "perhaps", isClear: false } as const
const unbilled = { isBilled: false, isClear: true } as const
const billed = { isBilled: true, isClear: false } as const

const troubles: ReadonlyArray<Trouble> = [
  { fault: FakeVendor.hang, ...unclear, perMille: 30 },
  { fault: FakeVendor.reset, ...unclear, perMille: 35 },
  { fault: FakeVendor.answer(502, "<h1>Bad gateway</h1>"), ...unclear, perMille: 15 },
  { fault: FakeVendor.answer(504, ""), ...unclear, perMille: 15 },
  { fault: FakeVendor.cut, ...billed, perMille: 20 },
  { fault: FakeVendor.answer(200, '\u0000{"resu'), ...billed, perMille: 15 },
  { fault: FakeVendor.nothing, ...billed, perMille: 10 },
  { fault: FakeVendor.unavailable, ...unbilled, perMille: 25 },
  { fault: FakeVendor.answer(503, "busy"), ...unbilled, perMille: 15 },
  { fault: FakeVendor.throttled("1"), ...unbilled, perMille: 10, max: 3 },
  {
    fault: FakeMoz.rpcFailure(400, FakeMoz.rpcError(-32652, 400, "param-is-missing")),
    ...unbilled,
    perMille: 10,
    max: 6,
  },
  { fault: slow, isBilled: true, isClear: true, perMille: 50 },
]

const fine: Trouble = { fault: right, isBilled: true, isClear: true, perMille: 0 }

/** How many kinds of answers there are: each may be billed before or after the fault, or fine. */
export const kinds =
  1 + troubles.length + troubles.filter(({ isBilled }) => isBilled === "perhaps").length

/** Starts a vendor. `bill` is kept up. */
export const make = (seed: number) =>
  Effect.map(FakeMoz.make, (moz) => {
    const random = new Random(seed)
    const bill: Bill = {
      calls: 0,
      targets: 0,
      rows: 0,
      clearRows: 0,
      unknownCalls: 0,
      unknownTargets: 0,
      faults: {},
    }

    const next = (): Trouble => {
      let left = random.below(1000)
      const found = troubles.find(({ perMille }) => (left -= perMille) < 0) ?? fine
      const struck = bill.faults[found.fault.name] ?? 0
      return struck < (found.max ?? Number.POSITIVE_INFINITY) ? found : fine
    }

    /** Bills a call, and lets the fault strike. */
    const answer = (pages: ReadonlyArray<string>, { fault, isBilled, isClear }: Trouble) => {
      const isPaid = isBilled === "perhaps" ? random.chance(0.5) : isBilled
      const rows = isPaid ? pages.filter((page) => !isUnknown(page)).length : 0
      const name =
        isBilled === "perhaps" ? `${fault.name}, ${isPaid ? "" : "not "}billed` : fault.name
      bill.faults[name] = (bill.faults[name] ?? 0) + 1
      bill.calls++
      bill.targets += pages.length
      bill.rows += rows
      if (isClear) bill.clearRows += rows
      else {
        bill.unknownCalls++
        bill.unknownTargets += pages.length
      }
      return fault
    }

    moz.always({
      name: "billed",
      apply: (response, reply, call) => {
        const { method, params } = decodeCall(call.json)
        const pages = params.data.site_queries?.map(({ query }) => query.replace("https://", ""))
        const fault =
          pages !== undefined
            ? answer(pages, next())
            : method === "quota.lookup"
              ? usedRows(bill.rows)
              : FakeVendor.none
        fault.apply(response, reply, call)
      },
    })
    return { ...moz, bill }
  })

const usedRows = (used: number) =>
  FakeVendor.rewrite("billed rows", (json) =>
    JSON.parse(JSON.stringify(json).replace(/"used":\d+/, `"used":${used}`)),
  )

const decodeCall = Schema.decodeUnknownSync(
  Schema.Struct({
    method: Schema.String,
    params: Schema.Struct({
      data: Schema.Struct({
        site_queries: Schema.optional(Schema.Array(Schema.Struct({ query: Schema.String }))),
      }),
    }),
  }),
)
