/**
 * Checks what is derived from the ledger entries: the sums of usage, the use of budgets, and the
 * stored answers. `credits verify` does not check them. Call it when no hold is open.
 */
import Database from "better-sqlite3"
import * as Schema from "effect/Schema"
import * as Report from "../../src/check/Report.ts"

/** Returns the values in a database file that disagree with its ledger entries. */
export const wrongSums = (file: string): ReadonlyArray<string> => {
  const database = new Database(file, { readonly: true })
  const rows = (query: string) => database.prepare(query).all()
  try {
    return [
      ...rows(usage).map((row) => `the usage differs from the entries: ${JSON.stringify(row)}`),
      ...rows(budgets).map((row) => `a budget differs from the entries: ${JSON.stringify(row)}`),
      ...decodeAnswers(rows(answers)).flatMap(wrongAnswer),
    ]
  } finally {
    database.close()
  }
}

const usage = `
  SELECT account_id, api_key_id, day, u.checks, u.credits, e.checks AS charged_checks,
    e.credits AS charged_credits
  FROM (SELECT * FROM usage WHERE checks > 0 OR credits > 0) u
  FULL JOIN (
    SELECT account_id, api_key_id, at / 86400000 AS day, SUM(urls) AS checks, SUM(amount) AS credits
    FROM entries WHERE kind = 'charge' GROUP BY 1, 2, 3
  ) e USING (account_id, api_key_id, day)
  WHERE u.checks IS NOT e.checks OR u.credits IS NOT e.credits`

/** All budgets in the simulation are daily. */
const budgets = `
  SELECT budget_id, start, u.charged, u.held, u.holds, e.charged AS entries
  FROM budget_uses u FULL JOIN (
    SELECT b.id AS budget_id, MAX(b.since, COALESCE(e.held_at, e.at) / 86400000 * 86400000) AS start,
      SUM(e.amount) AS charged
    FROM budgets b JOIN api_keys k ON k.budget_id = b.id
    JOIN entries e ON e.api_key_id = k.id AND COALESCE(e.held_at, e.at) >= b.since
    GROUP BY 1, 2
  ) e USING (budget_id, start)
  WHERE COALESCE(u.charged, 0) <> COALESCE(e.charged, 0) OR u.held <> 0 OR u.holds <> 0`

const answers = `
  SELECT r.key, r.request_id AS requestId, r.body, e.amount, e.urls
  FROM receipts r LEFT JOIN entries e
    ON e.request_id = r.request_id AND e.account_id = r.account_id
  WHERE r.body IS NOT NULL`

const decodeAnswers = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      key: Schema.String,
      requestId: Schema.String,
      body: Schema.String,
      amount: Schema.NullOr(Schema.Int),
      urls: Schema.NullOr(Schema.Int),
    }),
  ),
)

const wrongAnswer = ({
  amount,
  body,
  key,
  requestId,
  urls,
}: ReturnType<typeof decodeAnswers>[0]) => {
  const { creditsUsed, outcomes } = Report.decode(body)
  const checked = outcomes.filter(({ _tag }) => _tag === "Checked").length
  return creditsUsed === (amount ?? 0) && checked === (urls ?? 0)
    ? []
    : [`the answer of ${key} says ${creditsUsed} credits, the charge of ${requestId} is ${amount}`]
}
