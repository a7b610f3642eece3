/**
 * A small system of another company that keeps credits, over real HTTP on a free port. It stands
 * for the system in the guide's page about ledgers, whose protocol it speaks.
 */
import * as Http from "node:http"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AccountId } from "../../src/accounts/Account.ts"
import { ApiKeyId } from "../../src/accounts/ApiKey.ts"
import { available } from "../../src/ledger/Balance.ts"
import { Books, type Refusal } from "../../src/ledger/Books.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import type { HoldExpired } from "../../src/ledger/Hold.ts"
import * as Usage from "../../src/ledger/usage/Usage.ts"
import { FailureReason } from "../../src/check/Metrics.ts"
import { RequestId } from "../../src/check/RequestId.ts"
import { listenOnFreePort } from "../free-port.ts"

const Hold = Schema.Struct({
  accountId: AccountId,
  requestId: RequestId,
  amount: Credits,
  idempotencyKey: Schema.optional(
    Schema.Struct({ key: Schema.String, fingerprint: Schema.String }),
  ),
  limit: Schema.optional(Credits),
  apiKeyId: Schema.optional(Schema.NullOr(ApiKeyId)),
})
const Charge = Schema.Struct({
  amount: Credits,
  urls: Schema.NonNegativeInt,
  known: Schema.optional(Schema.NonNegativeInt),
  failed: Schema.optional(Schema.Record({ key: FailureReason, value: Schema.NonNegativeInt })),
})
const Settlement = Schema.Struct({
  hold: Hold,
  charge: Charge,
  answer: Schema.optional(Schema.String),
})

const Page = Schema.Struct({
  account: AccountId,
  limit: Schema.Int,
  before: Schema.optional(Schema.Int),
})
const Question = Schema.Struct({
  by: Schema.Literal("day", "key", "account"),
  account: Schema.optional(AccountId),
  since: Schema.optional(Schema.Int),
  until: Schema.optional(Schema.Int),
  limit: Schema.optional(Schema.Int),
})

type Reply = readonly [status: number, body: unknown]

const statuses = {
  InsufficientCredits: 402,
  CorrectionTooLarge: 402,
  BudgetExceeded: 403,
  IdempotencyKeyInUse: 409,
  HoldExpired: 410,
  LimitExceeded: 412,
  IdempotencyKeyReused: 422,
} as const

const replyTo = (result: Either.Either<unknown, Refusal | HoldExpired>): Reply =>
  Either.match(result, {
    onLeft: (error) => [statuses[error._tag], error],
    onRight: (answer) => [
      200,
      { answer: Option.isOption(answer) ? Option.getOrNull(answer) : null },
    ],
  })

/** Makes a route, which decodes its request. */
const route = <A, I>(schema: Schema.Schema<A, I>, reply: (body: A) => Reply) => {
  const decode = Schema.decodeUnknownSync(Schema.parseJson(schema))
  return (body: string) => reply(decode(body))
}

/** The routes. Holds last a minute. The clock runs on, and `/elapse` sets it forward. */
const makeRoutes = () => {
  const books = new Books(60_000)
  let ahead = 0
  const now = () => Date.now() + ahead
  const balanceOf = (account: AccountId): Reply => [200, books.balance(account)]
  const usage = ({ account, by, ...period }: typeof Question.Type) => {
    const [first, last] = Usage.daysOf(period)
    const rows = [...books.usage.values()].filter(
      ({ accountId, day }) =>
        first <= day && day <= last && (account === undefined || account === accountId),
    )
    const grouped = rows.map((row) => ({
      ...row,
      accountId: by === "day" ? null : row.accountId,
      apiKeyId: by === "key" ? row.apiKeyId : null,
      day: by === "day" ? row.day : null,
    }))
    return Usage.merge(grouped, { by, ...(period.limit !== undefined && { limit: period.limit }) })
  }
  return new Map([
    ["/balance", route(Schema.Struct({ account: AccountId }), ({ account }) => balanceOf(account))],
    ["/open", route(Schema.Struct({ hold: Hold }), ({ hold }) => replyTo(books.open(hold, now())))],
    [
      "/settle",
      route(Settlement, ({ answer, charge, hold }) =>
        replyTo(books.settle(hold, charge, answer, now())),
      ),
    ],
    [
      "/charge",
      route(Settlement, ({ answer, charge, hold }) =>
        replyTo(books.charge(hold, charge, answer, now())),
      ),
    ],
    ["/release", route(Schema.Struct({ hold: Hold }), ({ hold }) => replyTo(books.release(hold)))],
    [
      "/grant",
      route(
        Schema.Struct({ account: AccountId, amount: Credits, note: Schema.NullOr(Schema.String) }),
        ({ account, amount, note }) => {
          return [
            200,
            Either.getOrThrow(books.grant({ accountId: account, amount, note, at: now() })),
          ]
        },
      ),
    ],
    [
      "/correct",
      route(
        Schema.Struct({ account: AccountId, amount: Credits, note: Schema.String }),
        ({ account, amount, note }) =>
          Either.match(books.correct({ accountId: account, amount, note, at: now() }), {
            onLeft: (error): Reply => [statuses[error._tag], error],
            onRight: () => balanceOf(account),
          }),
      ),
    ],
    [
      "/expire",
      route(Schema.Struct({}), () => {
        const expired = [...books.openHolds].filter(({ expiresAt }) => expiresAt <= now())
        for (const hold of expired) books.release(hold)
        for (const key of books.writtenKeys) if (key.expiresAt <= now()) books.deleteKey(key)
        return [200, { released: expired.length }]
      }),
    ],
    [
      "/totals",
      route(Schema.Struct({ amounts: Schema.Array(Credits) }), ({ amounts }) => {
        const balances = [...books.changed].map((account) => books.balance(account))
        const below = (amount: number) => balances.filter((one) => available(one) < amount).length
        const held = balances.reduce((sum, { held }) => sum + held, 0)
        return [200, { held, accountsBelow: amounts.map(below) }]
      }),
    ],
    [
      "/statement",
      route(
        Schema.Struct({
          account: AccountId,
          since: Schema.optional(Schema.Int),
          until: Schema.optional(Schema.Int),
        }),
        ({ account, since = -Infinity, until = Infinity }) => [
          200,
          books.newEntries.filter(
            ({ accountId, at }) => accountId === account && since <= at && at < until,
          ),
        ],
      ),
    ],
    [
      "/recent",
      route(Page, ({ account, before = Infinity, limit }) => [
        200,
        books.newEntries
          .filter(({ accountId, sequence }) => accountId === account && sequence < before)
          .reverse()
          .slice(0, limit),
      ]),
    ],
    ["/usage", route(Question, (question) => [200, usage(question)])],
    [
      "/elapse",
      route(Schema.Struct({ ms: Schema.Number }), ({ ms }) => {
        ahead += ms
        return [200, {}]
      }),
    ],
  ])
}

/** Starts the system, which answers to requests with the token. */
export const start = async (token: string) => {
  const routes = makeRoutes()
  const server = Http.createServer(async (request, response) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    const answer = routes.get(request.url ?? "")
    const body = await text(request)
    if (request.headers.authorization !== `Bearer ${token}`) return reply(401, {})
    if (answer === undefined) return reply(404, {})
    try {
      return reply(...answer(body))
    } catch (error) {
      return reply(400, { message: String(error) })
    }
  })
  return {
    url: `http://127.0.0.1:${await listenOnFreePort(server)}`,
    stop: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
