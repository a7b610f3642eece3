/**
 * A small credit system of another company, over real HTTP on a free port. It implements the
 * protocol of the guide's page "A ledger of your own".
 */
import * as Http from "node:http"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { AccountId } from "../../src/accounts/Account.ts"
import { available } from "../../src/ledger/Balance.ts"
import { Books, type Refusal } from "../../src/ledger/Books.ts"
import type { Credits } from "../../src/ledger/Credits.ts"
import type { Charge, CorrectionTooLarge, Hold, HoldExpired } from "../../src/ledger/Hold.ts"
import * as Usage from "../../src/ledger/usage/Usage.ts"
import { listenOnFreePort } from "../free-port.ts"

/** The fields of all questions. Each question has some of them. */
interface Body extends Usage.Question {
  readonly account: AccountId
  readonly hold: Hold
  readonly charge: Charge
  readonly answer?: string
  readonly amount: Credits
  readonly amounts: ReadonlyArray<Credits>
  readonly note: string
  readonly limit: number
  readonly before?: number
  readonly ms: number
}

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

const replyTo = (
  result: Either.Either<unknown, Refusal | HoldExpired | CorrectionTooLarge>,
): Reply =>
  Either.match(result, {
    onLeft: (error) => [statuses[error._tag], error],
    onRight: (answer) => [
      200,
      { answer: Option.isOption(answer) ? Option.getOrNull(answer) : null },
    ],
  })

/**
 * Returns a handler for each kind of request. Holds last a minute by the real clock, which
 * `/elapse` moves forward.
 */
const makeQuestions = (): Readonly<Record<string, (body: Body) => Reply>> => {
  const books = new Books(60_000)
  let ahead = 0
  const now = () => Date.now() + ahead
  return {
    "/balance": ({ account }) => [200, books.balance(account)],
    "/open": ({ hold }) => replyTo(books.open(hold, now())),
    "/settle": ({ answer, charge, hold }) => replyTo(books.settle(hold, charge, answer, now())),
    "/charge": ({ answer, charge, hold }) => replyTo(books.charge(hold, charge, answer, now())),
    "/release": ({ hold }) => replyTo(books.release(hold)),
    "/grant": ({ account, amount, note }) => [
      200,
      Either.getOrThrow(books.grant({ accountId: account, amount, note, at: now() })),
    ],
    "/correct": ({ account, amount, note }) => {
      const corrected = books.correct({ accountId: account, amount, note, at: now() })
      return Either.isLeft(corrected) ? replyTo(corrected) : [200, books.balance(account)]
    },
    "/expire": () => {
      const expired = [...books.openHolds].filter(({ expiresAt }) => expiresAt <= now())
      for (const hold of expired) books.release(hold)
      for (const key of books.writtenKeys) if (key.expiresAt <= now()) books.deleteKey(key)
      return [200, { released: expired.length }]
    },
    "/totals": ({ amounts }) => {
      const balances = [...books.changed].map((account) => books.balance(account))
      const below = (amount: number) => balances.filter((one) => available(one) < amount).length
      const held = balances.reduce((sum, { held }) => sum + held, 0)
      return [200, { held, accountsBelow: amounts.map(below) }]
    },
    "/statement": ({ account, since = -Infinity, until = Infinity }) => [
      200,
      books.newEntries.filter(
        ({ accountId, at }) => accountId === account && since <= at && at < until,
      ),
    ],
    "/recent": ({ account, before = Infinity, limit }) => [
      200,
      books.newEntries
        .filter(({ accountId, sequence }) => accountId === account && sequence < before)
        .reverse()
        .slice(0, limit),
    ],
    "/usage": (question) => {
      const { account, by } = question
      const [first, last] = Usage.daysOf(question)
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
      return [200, Usage.merge(grouped, question)]
    },
    "/elapse": ({ ms }) => [200, { ahead: (ahead += ms) }],
  }
}

/** Starts the system, which answers only requests that carry the token. */
export const start = async (token: string) => {
  const questions = makeQuestions()
  const server = Http.createServer(async (request, response) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    const answer = questions[request.url ?? ""]
    const body = await text(request)
    if (request.headers.authorization !== `Bearer ${token}`) return reply(401, {})
    if (answer === undefined) return reply(404, {})
    try {
      return reply(...answer(JSON.parse(body)))
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
