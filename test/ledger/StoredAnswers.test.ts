/** `authority credits verify` compares each stored answer with the charge of its request. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { newAccountWith } from "../../scripts/support/accounts.ts"
import { chargeAtOnce, credits, newHold } from "../../scripts/support/ledger.ts"
import { Outcome, providerFailed } from "../../src/Metrics.ts"
import * as StoredAnswers from "../../src/ledger/SqlStoredAnswers.ts"
import * as StoredAnswer from "../../src/StoredAnswer.ts"
import { stores } from "../support/Stores.ts"

const checked = Outcome.Checked({ metrics: { domainAuthority: 91, pageAuthority: 74 } })
const failed = providerFailed("unknown")

/** A request for two URLs with an answer for the first one. */
const answered = (account: Parameters<typeof newHold>[0], key: string, cost: number) => {
  const hold = newHold(account, 2, { key, fingerprint: key })
  const outcomes = cost === 0 ? [failed, failed] : [checked, failed]
  const answer = StoredAnswer.encode({ creditsUsed: credits(cost), outcomes })
  return Effect.as(chargeAtOnce(hold, cost, answer), hold.requestId)
}

for (const [name, store] of stores) {
  layer(store)(`stored answers in ${name}`, (it) => {
    it.effect("a stored answer that cannot be read or does not fit its charge is named", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const id = yield* newAccountWith(100)
        const request = yield* answered(id, "one", 1)
        yield* answered(id, "nothing", 0)
        assert.deepStrictEqual(yield* StoredAnswers.problems, [])

        const one = `account ${id}: the answer that is stored under the idempotency key "one"`
        const change = (body: string) =>
          sql`UPDATE receipts SET body = ${body} WHERE account_id = ${id} AND key = 'one'`
        for (const body of ["", "{}", '{"creditsUsed":1,"outcomes":[[91,740]]}']) {
          yield* change(body)
          assert.deepStrictEqual(yield* StoredAnswers.problems, [`${one} cannot be read`])
        }
        const charge = `the statement has 1 credits for 1 URLs for request ${request}`
        yield* change('{"creditsUsed":0,"outcomes":[[91,74]]}')
        assert.deepStrictEqual(yield* StoredAnswers.problems, [
          `${one} says 0 credits for 1 URLs, but ${charge}`,
        ])
        yield* change('{"creditsUsed":1,"outcomes":[[91,74],[91,74]]}')
        assert.deepStrictEqual(yield* StoredAnswers.problems, [
          `${one} says 1 credits for 2 URLs, but ${charge}`,
        ])
        yield* sql`UPDATE receipts SET request_id = 'another' WHERE account_id = ${id} AND key = 'one'`
        assert.match(
          (yield* StoredAnswers.problems).join("\n"),
          /but the statement has no charge for request another$/,
        )
      }),
    )
  })
}
