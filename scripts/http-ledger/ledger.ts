/**
 * An example of a ledger of your own: it asks another system for everything, over HTTP. The guide's
 * page "A ledger of your own" has the protocol. A copy of this file is beside the program's other
 * files, where the package `authority-metrics` is installed.
 */
import {
  AccountId,
  ApiKey,
  CorrectionTooLarge,
  CreditLedger,
  Credits,
  Funds,
  type Hold,
  HoldExpired,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  InsufficientCredits,
  LimitExceeded,
  type Refusal,
  remainingMs,
  StatementEntry,
  StoreFailure,
  StoreTimeout,
} from "authority-metrics/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

const address = process.env["MONEY_URL"] ?? "http://127.0.0.1:9090"
const token = process.env["MONEY_TOKEN"] ?? ""

const Answer = Schema.Struct({ answer: Schema.NullOr(Schema.String) })
const Shortage = Schema.Struct({ required: Schema.Number, available: Schema.Number })
const Available = Schema.Struct({ available: Schema.Number })
const Excess = Schema.Struct({ required: Credits, limit: Credits })
const Released = Schema.Struct({ released: Schema.NonNegativeInt })
const Totals = Schema.Struct({ held: Credits, accountsBelow: Schema.Array(Schema.NonNegativeInt) })
const Entries = Schema.Array(StatementEntry)
const Usage = Schema.Array(
  Schema.Struct({
    accountId: Schema.NullOr(AccountId),
    apiKeyId: Schema.NullOr(ApiKey.ApiKeyId),
    day: Schema.NullOr(Schema.Int),
    checks: Schema.NonNegativeInt,
    credits: Credits,
    known: Schema.NonNegativeInt,
    failed: Schema.Struct({
      INVALID_URL: Schema.NonNegativeInt,
      PROVIDER_ERROR: Schema.NonNegativeInt,
      SERVER_ERROR: Schema.NonNegativeInt,
    }),
  }),
)

/** Asks the other system, and waits for its answer even when the caller is interrupted. */
export const ask = (path: string, question: unknown, waitMs = 10_000) =>
  Effect.tryPromise(async () => {
    const response = await fetch(`${address}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(question),
      signal: AbortSignal.timeout(waitMs),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    return { status: response.status, text: await response.text() }
  }).pipe(Effect.uninterruptible)

type Reply = Effect.Effect.Success<ReturnType<typeof ask>>

/** Asks the other system, and gives up one second after the deadline of the request. */
const askInTime = (path: string, question: unknown, mayCharge: boolean) =>
  Effect.flatMap(remainingMs, (ms) =>
    ask(path, question, Math.ceil(Math.min(Math.max(ms, 0), 30_000)) + 1000),
  ).pipe(Effect.mapError(() => new StoreTimeout({ mayCharge })))

/** Asks on behalf of a call that no request waits for. Dies if there is no answer. */
const askFor = <A, I>(path: string, question: unknown, schema: Schema.Schema<A, I>) =>
  ask(path, question).pipe(Effect.orDieWith(failure), Effect.flatMap(read(schema)))

const failure = (cause: unknown) =>
  new StoreFailure({ message: `the system of the credits failed: ${String(cause)}`, cause })

const read =
  <A, I>(schema: Schema.Schema<A, I>, expected = 200) =>
  ({ status, text }: Reply): Effect.Effect<A> =>
    status === expected
      ? Effect.orDieWith(Schema.decodeUnknown(Schema.parseJson(schema))(text), failure)
      : Effect.die(failure(`status ${status}`))

/** Reads the answer to `open` and `charge`: none, or the stored answer of the idempotency key. */
const readStored = (reply: Reply): Effect.Effect<Option.Option<string>, Refusal> => {
  switch (reply.status) {
    case 402:
      return Effect.flatMap(read(Shortage, 402)(reply), (it) => new InsufficientCredits(it))
    case 409:
      return new IdempotencyKeyInUse()
    case 412:
      return Effect.flatMap(read(Excess, 412)(reply), (it) => new LimitExceeded(it))
    case 422:
      return new IdempotencyKeyReused()
    default:
      return Effect.map(read(Answer)(reply), ({ answer }) => Option.fromNullable(answer))
  }
}

/** Retries the release until it is answered. A hold that is never released ends with its lease. */
const release = (hold: Hold) =>
  ask("release", { hold }).pipe(
    Effect.retry(Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(5))),
    Effect.ignoreLogged,
  )

export const ledger = Layer.succeed(CreditLedger, {
  balance: (account) => Effect.flatMap(askInTime("balance", { account }, false), read(Funds)),

  open: (hold) =>
    askInTime("open", { hold }, false).pipe(
      // The other system may have opened the hold.
      Effect.tapError(() => Effect.forkDaemon(release(hold))),
      Effect.flatMap(readStored),
      Effect.uninterruptible,
    ),

  settle: (hold, charge, answer) =>
    Effect.flatMap(askInTime("settle", { hold, charge, answer }, charge.amount > 0), (reply) =>
      reply.status === 410
        ? new HoldExpired({ requestId: hold.requestId })
        : Effect.asVoid(read(Answer)(reply)),
    ),

  charge: (hold, charge, answer) =>
    Effect.flatMap(askInTime("charge", { hold, charge, answer }, charge.amount > 0), readStored),

  release,

  grant: (account, amount, note) => askFor("grant", { account, amount, note }, Funds),

  correct: (account, amount, note) =>
    ask("correct", { account, amount, note }).pipe(
      Effect.orDieWith(failure),
      Effect.flatMap((reply) =>
        reply.status === 402
          ? Effect.flatMap(
              read(Available, 402)(reply),
              ({ available }) => new CorrectionTooLarge({ amount, available }),
            )
          : read(Funds)(reply),
      ),
    ),

  // The other system has no budgets, so no key has used one.
  budgets: () => Effect.succeed(new Map()),

  expire: Effect.map(askFor("expire", {}, Released), ({ released }) => released),

  totals: (amounts) => askFor("totals", { amounts }, Totals),

  statement: (account, period) =>
    Stream.fromIterableEffect(askFor("statement", { account, ...period }, Entries)),

  recent: (account, page) => askFor("recent", { account, ...page }, Entries),

  usage: (question) => askFor("usage", question, Usage),

  verify: Effect.succeed({ accounts: 0, entries: 0, problems: [] }),
})
