import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StatementEntry } from "../../src/client/PromiseClient.ts"
import { statementPath } from "../../src/contract/Wire.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { stores } from "../support/Stores.ts"
import * as TestServer from "../support/TestServer.ts"

describe("the statement of the key's account", () => {
  it.scopedLive.each(stores)(
    "the statement has grants, charges and corrections, newest first, without notes, on %s",
    ([, layer]) =>
      Effect.gen(function* () {
        const server = yield* TestServer.start({ stores: Layer.orDie(layer), price: 2 })
        const { account, check, key, keyId, ledger, send } = server
        const checked = yield* check(["a.example.com", "b.example.com", "localhost"])
        yield* ledger.correct(account, Credits.make(6), "for the operator only")

        const ask = (query: string) =>
          Effect.map(
            send({ path: `${statementPath}${query}`, headers: { "x-api-key": key } }),
            ({ status, text }) => ({ status, body: JSON.parse(text) }),
          )
        const { body, status } = yield* ask("")
        assert.strictEqual(status, 200)
        const entries: ReadonlyArray<StatementEntry> = body.data.entries
        const [corrected, charged, granted] = entries.map(({ at }) => at)
        const noCharge = { urls: null, requestId: null, key: null }
        assert.deepStrictEqual<unknown>(entries, [
          {
            sequence: 3,
            at: corrected,
            kind: "correction",
            amount: -6,
            balanceAfter: 990,
            ...noCharge,
          },
          {
            sequence: 2,
            at: charged,
            kind: "charge",
            amount: -4,
            balanceAfter: 996,
            urls: 2,
            requestId: checked.headers["x-request-id"],
            key: keyId,
          },
          {
            sequence: 1,
            at: granted,
            kind: "grant",
            amount: 1000,
            balanceAfter: 1000,
            ...noCharge,
          },
        ])
        assert.deepStrictEqual(body, { success: true, data: { account: "acme", entries } })
        const { body: page } = yield* ask("?limit=1&before=3")
        assert.deepStrictEqual(page.data.entries, entries.slice(1, 2))
        const wrong = yield* ask("?limit=0&before=x")
        assert.strictEqual(wrong.status, 400)
        assert.lengthOf(wrong.body.error.issues, 2)
      }),
  )
})
