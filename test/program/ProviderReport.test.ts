/** The report of the purchases, beside the bill that a vendor keeps of its own. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { eventually } from "../../scripts/support/eventually.ts"
import { request } from "../../scripts/support/RawHttp.ts"
import * as BilledMoz from "../support/BilledMoz.ts"
import { folder, json, openAccount, run, serve } from "../support/Program.ts"
import { runs } from "../support/properties.ts"
import { batch } from "../support/TestServer.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** How many calls the vendor gets: a thousand in CI. */
const enough = runs(250)

it.scopedLive(
  "the report equals the vendor's own bill over many calls with every kind of fault, and calls without an answer explain the rest",
  () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const moz = yield* BilledMoz.make(23)
      const { bill } = moz
      const { key } = yield* openAccount(cwd, 1_000_000)
      const settings = {
        ...FakeMoz.settings(moz.url),
        AUTHORITY_ADMIN_TOKEN: adminToken,
        AUTHORITY_MOZ_PRICE: "10",
        AUTHORITY_PROVIDER_TIMEOUT: "2s",
      }
      const { url } = yield* serve(cwd, settings)
      const ask = (path: string, method = "GET") =>
        Effect.map(
          request(url, {
            path: `/admin/v1/provider/${path}`,
            method,
            headers: { authorization: `Bearer ${adminToken}` },
          }),
          ({ text }) => JSON.parse(text).data,
        )
      const check = (urls: ReadonlyArray<string>) =>
        Effect.map(request(url, batch(key, JSON.stringify({ urls }))), ({ text }) =>
          JSON.parse(text),
        )

      const first = yield* ask("reconcile", "POST")
      assert.deepInclude(first.readings[0], { provider: "moz", state: "first" })

      let charged = 0
      let lastChecked: ReadonlyArray<string> = []
      const client = (name: number) =>
        Effect.gen(function* () {
          for (let i = 0; bill.calls < enough; i++) {
            const urls = Array.from({ length: 1 + ((i * 7 + name) % 20) }, (_, n) =>
              n % 5 === 4 ? `unknown${i}-${n}.c${name}.com` : `h${i}-${n}.c${name}.com`,
            )
            const { data, quota } = yield* check(urls)
            charged += quota.creditsUsed
            if (quota.creditsUsed > 0) lastChecked = data.successUrls.map(urlOf)
            else yield* Effect.sleep("50 millis")
          }
        })
      yield* Effect.forEach(Array.from({ length: 16 }).keys(), client, { concurrency: "unbounded" })
      const { quota } = yield* check(lastChecked)
      charged += quota.creditsUsed

      assert.lengthOf(Object.keys(bill.faults), BilledMoz.kinds, JSON.stringify(bill.faults))

      // The close of a call is stored a moment after its answer.
      yield* eventually(
        "the answered calls are closed",
        Effect.map(ask("report"), ({ rows: [row] }) => row.unknown === bill.unknownCalls),
      )
      const { rows } = yield* ask("report")
      assert.deepStrictEqual(rows, [
        {
          provider: "moz",
          day: rows[0].day,
          calls: bill.calls,
          targets: bill.targets,
          rowsBought: bill.clearRows,
          cost: bill.clearRows / 100,
          unknown: bill.unknownCalls,
          answeredFromCache: lastChecked.length,
          creditsCharged: charged,
        },
      ])
      assert.isAbove(bill.rows, bill.clearRows)
      assert.isAtMost(bill.rows, bill.clearRows + bill.unknownTargets)

      const { readings } = yield* ask("reconcile", "POST")
      const { reconciliation } = readings[0]
      assert.deepInclude(reconciliation, {
        unit: "rows",
        reported: bill.rows,
        computed: bill.clearRows,
        unknown: bill.unknownTargets,
        difference: 0,
      })
      const document = yield* json(cwd, "provider", "report")
      assert.deepStrictEqual(document, { rows, reconciliations: [reconciliation] })
      assert.deepStrictEqual(yield* ask("report"), document)

      // Somebody else uses the subscription, or the service forgot calls.
      bill.rows += 100_000
      const { code, stdout } = yield* run(cwd, ["provider", "report", "--reconcile"], settings)
      assert.strictEqual(code, 0)
      const difference = /the vendor counts 100000 rows, .* a difference of (\d+)$/m.exec(stdout)
      assert.isAtLeast(Number(difference?.[1]), 100_000 - bill.unknownTargets, stdout)
    }),
  300_000,
)

const urlOf = ({ url }: { readonly url: string }) => url
