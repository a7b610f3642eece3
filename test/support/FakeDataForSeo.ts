/** A fake of DataForSEO's backlinks API, written from its public reference. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as DataForSeo from "../../src/providers/vendors/DataForSeo.ts"
import * as FakeVendor from "../../scripts/support/FakeVendor.ts"
import { figure } from "../../scripts/support/fakeFigure.ts"

export const login = "login@example.com"
export const password = "a-password-for-tests"

/** The account's deposits and its remaining balance, in USD. */
const money = { total: 100, balance: 12.34 }

/** A host that is not in the fake's index. */
export const unknown = "unknown.com"

export const rank = (name: string) => figure(name, "rank")
export const spamScore = (domain: string) => figure(domain, "spam")

export const make = Effect.gen(function* () {
  const vendor = yield* FakeVendor.make(({ json, url }) => {
    if (url === "/v3/appendix/user_data") {
      return { status: 200, body: JSON.stringify(envelope([{ login, money }])) }
    }
    const [{ targets }] = Schema.decodeUnknownSync(Request)(json)
    const known = targets.filter((target) => !target.includes(unknown))
    const items = url.includes("bulk_ranks")
      ? known.map((target) => ({ target, rank: rank(target) }))
      : known.map((target) => ({ target, spam_score: spamScore(target) }))
    return { status: 200, body: JSON.stringify(envelope([{ items_count: items.length, items }])) }
  })
  return Object.assign(vendor, {
    layer: DataForSeo.layer({
      url: `${vendor.address}/v3`,
      login,
      password: Redacted.make(password),
    }),
  })
})

/**
 * A fault: an answer with HTTP status 200 that contains an error code, for the whole call or for
 * the task in it.
 */
export const failure = (where: "call" | "task", code: number) =>
  FakeVendor.rewrite(`status_code ${code} of the ${where}`, (json) => {
    const answer = Schema.decodeUnknownSync(Answer)(json)
    const status = { status_code: code, status_message: "It did not work." }
    return where === "call"
      ? { ...answer, ...status, tasks: null }
      : { ...answer, tasks: answer.tasks.map((task) => ({ ...task, ...status, result: null })) }
  })

const envelope = (result: ReadonlyArray<object>) => ({
  version: "0.1.20260801",
  status_code: 20000,
  status_message: "Ok.",
  time: "0.0806 sec.",
  cost: 0.0203,
  tasks_count: 1,
  tasks_error: 0,
  tasks: [
    {
      id: "1",
      status_code: 20000,
      status_message: "Ok.",
      cost: 0.0203,
      result,
    },
  ],
})

const Request = Schema.Tuple(
  Schema.Struct({
    targets: Schema.Array(Schema.String).pipe(Schema.maxItems(1000)),
    rank_scale: Schema.optional(Schema.Literal("one_hundred")),
  }),
)

const Answer = Schema.Struct({
  status_code: Schema.Number,
  status_message: Schema.String,
  tasks: Schema.Array(Schema.Object),
})
