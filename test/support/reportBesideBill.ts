/** Buys from a vendor with every kind of fault, and compares the report with the vendor's bill. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import { request } from "../../scripts/support/RawHttp.ts"
import * as BilledMoz from "./BilledMoz.ts"
import { documentOf, folder, run, serve } from "./Program.ts"
import { batch } from "./TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** `calls` is how many calls the vendor gets at least. `database` are the settings of a database. */
export const reportBesideBill = (calls: number, database: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const cwd = yield* folder
    // With this seed, the first 250 calls have every kind of fault.
    const moz = yield* BilledMoz.make(23)
    const { bill } = moz
    const settings = {
      ...database,
      ...FakeMoz.settings(moz.url),
      AUTHORITY_ADMIN_TOKEN: adminToken,
      AUTHORITY_MOZ_PRICE: "10",
      AUTHORITY_PROVIDER_TIMEOUT: "2s",
    }
    const verb = (...args: ReadonlyArray<string>) =>
      Effect.flatMap(run(cwd, [...args, "--json"], settings), documentOf(args))
    yield* verb("account", "create", "acme", "--credits", "1000000")
    const { key } = yield* verb("key", "create", "--account", "acme")
    const { url } = yield* serve(cwd, settings)
    const ask = asking(url)

    const { charged, fromCache } = yield* buy(url, key, () => bill.calls >= calls)
    assert.lengthOf(Object.keys(bill.faults), BilledMoz.kinds, JSON.stringify(bill.faults))

    yield* eventually(
      "the calls are counted",
      Effect.map(ask("report"), ({ rows: [row] }) => row.calls === bill.calls),
    )
    const { counts, rows } = yield* ask("report?reconcile=true")
    const [bought, sold] = rows
    assert.deepInclude(bought, {
      provider: "moz",
      calls: bill.calls,
      rows: bill.clearRows,
      cost: bill.clearRows / 100,
      unanswered: bill.unknownCalls,
    })
    assert.deepInclude(sold, {
      provider: null,
      answeredFromCache: fromCache,
      creditsCharged: charged,
    })
    assert.isAbove(bill.rows, bill.clearRows)
    assert.isAtMost(bill.rows, bill.clearRows + bill.unknownTargets)
    const [{ month, quota }] = counts
    assert.strictEqual(month.rows, bill.clearRows)
    assert.strictEqual(quota.allotted - quota.left, bill.rows)
    assert.deepStrictEqual(yield* verb("provider", "report"), { rows })
    const { code, stdout } = yield* run(cwd, ["provider", "report", "--reconcile"], settings)
    assert.strictEqual(code, 0)
    assert.include(stdout, `the vendor counts ${bill.rows} of `)
  })

/** Asks the administration. */
const asking = (url: string) => (path: string) =>
  Effect.map(
    request(url, {
      path: `/admin/v1/provider/${path}`,
      headers: { authorization: `Bearer ${adminToken}` },
    }),
    ({ text }) => JSON.parse(text).data,
  )

/** Sends requests for new URLs until `isEnough`, and then one for known URLs. */
const buy = (url: string, key: string, isEnough: () => boolean) =>
  Effect.gen(function* () {
    let charged = 0
    let checked: ReadonlyArray<string> = []
    const check = (urls: ReadonlyArray<string>) =>
      Effect.map(request(url, batch(key, JSON.stringify({ urls }))), ({ text }) => {
        const { data, quota } = JSON.parse(text)
        charged += quota.creditsUsed
        if (quota.creditsUsed > 0) checked = data.successUrls.map(urlOf)
        return quota.creditsUsed > 0
      })
    const client = (name: number) =>
      Effect.gen(function* () {
        for (let i = 0; !isEnough(); i++) {
          const urls = Array.from({ length: 1 + ((i * 7 + name) % 20) }, (_, n) =>
            n % 5 === 4 ? `unknown${i}-${n}.c${name}.com` : `h${i}-${n}.c${name}.com`,
          )
          // While the circuit is open, nothing succeeds.
          if (!(yield* check(urls))) yield* Effect.sleep("50 millis")
        }
      })
    yield* Effect.forEach(Array.from({ length: 16 }).keys(), client, { concurrency: "unbounded" })
    yield* check(checked)
    return { charged, fromCache: checked.length }
  })

const urlOf = ({ url }: { readonly url: string }) => url
