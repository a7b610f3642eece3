/**
 * A small system of another company that keeps credits, over real HTTP on a free port. It stands
 * for the system in the guide's page about ledgers, whose protocol it speaks. Its credits are in the
 * service's own ledger, on a database in memory.
 */
import * as Http from "node:http"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AccountId } from "../../src/accounts/Account.ts"
import * as Migrations from "../../src/database/migrations/Migrations.ts"
import * as Sqlite from "../../src/database/Sqlite.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { Credits } from "../../src/ledger/Credits.ts"
import type { Charge, Hold } from "../../src/ledger/Hold.ts"
import * as SqlCreditLedger from "../../src/ledger/SqlCreditLedger.ts"
import type { Question } from "../../src/ledger/usage/Usage.ts"
import { listenOnFreePort } from "../free-port.ts"

/** The fields of all questions. Each question has some of them. */
interface Body extends Question {
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

const statuses: Readonly<Record<string, number>> = {
  InsufficientCredits: 402,
  CorrectionTooLarge: 402,
  BudgetExceeded: 403,
  IdempotencyKeyInUse: 409,
  HoldExpired: 410,
  LimitExceeded: 412,
  IdempotencyKeyReused: 422,
}

/** The time that `/elapse` has added to the clock. */
let aheadMs = 0
const clock = Object.assign(Clock.make(), {
  unsafeCurrentTimeMillis: () => Date.now() + aheadMs,
  currentTimeMillis: Effect.sync(() => Date.now() + aheadMs),
})

const stored = Effect.map((answer: Option.Option<string>) => ({ answer: Option.getOrNull(answer) }))

type Ask = (
  ledger: CreditLedger["Type"],
  body: Body,
) => Effect.Effect<unknown, { readonly _tag: string }>

const questions: Readonly<Record<string, Ask>> = {
  "/balance": (ledger, { account }) => ledger.balance(account),
  "/open": (ledger, { hold }) => stored(ledger.open(hold)),
  "/settle": (ledger, { answer, charge, hold }) =>
    Effect.as(ledger.settle(hold, charge, answer), { answer: null }),
  "/charge": (ledger, { answer, charge, hold }) => stored(ledger.charge(hold, charge, answer)),
  "/release": (ledger, { hold }) => Effect.as(ledger.release(hold), {}),
  "/grant": (ledger, { account, amount, note }) => ledger.grant(account, amount, note),
  "/correct": (ledger, { account, amount, note }) => ledger.correct(account, amount, note),
  "/expire": ({ expire }) => Effect.map(expire, (released) => ({ released })),
  "/totals": (ledger, { amounts }) => ledger.totals(amounts),
  "/statement": (ledger, { account, ...period }) =>
    Effect.map(Stream.runCollect(ledger.statement(account, period)), Chunk.toReadonlyArray),
  "/recent": (ledger, { account, ...page }) => ledger.recent(account, page),
  "/usage": (ledger, question) => ledger.usage(question),
  "/elapse": (_, { ms }) => Effect.sync(() => ({ aheadMs: (aheadMs += ms) })),
}

/** A ledger that takes any account id, and makes the account with its first credits. */
const ledgerLayer = Layer.effectDiscard(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      CREATE TRIGGER any_account BEFORE INSERT ON entries BEGIN
        INSERT OR IGNORE INTO accounts (id, name, created_at)
        VALUES (NEW.account_id, NEW.account_id, 0);
      END`,
  ),
).pipe(
  Layer.provideMerge(SqlCreditLedger.layer({ lease: "1 minute" })),
  Layer.provide(Layer.provideMerge(Migrations.layer, Sqlite.layer(":memory:"))),
  Layer.provide(Layer.setClock(clock)),
)

/** Starts the system, which answers to requests with the token. */
export const start = async (token: string) => {
  const runtime = ManagedRuntime.make(ledgerLayer)
  const ledger = await runtime.runPromise(CreditLedger)
  const server = Http.createServer(async (request, response) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    const ask = questions[request.url ?? ""]
    const body: Body = JSON.parse(await text(request))
    if (request.headers.authorization !== `Bearer ${token}`) return reply(401, {})
    if (ask === undefined) return reply(404, {})
    const asked = Effect.suspend(() => ask(ledger, body)).pipe(
      Effect.match({
        onFailure: (error) => reply(statuses[error._tag] ?? 500, error),
        onSuccess: (answer) => reply(200, answer),
      }),
      Effect.catchAllDefect((defect) => Effect.sync(() => reply(400, { message: String(defect) }))),
      Effect.withClock(clock),
    )
    return runtime.runPromise(asked)
  })
  return {
    url: `http://127.0.0.1:${await listenOnFreePort(server)}`,
    stop: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
      await runtime.dispose()
    },
  }
}
