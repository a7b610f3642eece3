/** In-memory implementation of the port CreditLedger, for tests. Nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Audit from "../ledger/Audit.ts"
import { available } from "../ledger/Balance.ts"
import { Books } from "../ledger/Books.ts"
import { creditsOf } from "../ledger/Credits.ts"
import type { Detail } from "../ledger/AuditLine.ts"
import { AuditLog } from "../AuditLog.ts"
import * as MemoryAuditLog from "./AuditLog.ts"
import * as KeyBudgets from "./KeyBudgets.ts"
import * as Usage from "../ledger/Usage.ts"
import * as SteadyClock from "../time/SteadyClock.ts"

/**
 * `lease`: how long a hold and its idempotency key last when the hold is not settled or released.
 */
export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<CreditLedger> =>
  Layer.effect(
    CreditLedger,
    Effect.zipWith(KeyBudgets.KeyBudgets, AuditLog, (keyBudgets, { append }) =>
      make(options, keyBudgets, append),
    ),
  ).pipe(Layer.provide([KeyBudgets.layer, MemoryAuditLog.layer]))

const make = (
  options: { readonly lease: Duration.DurationInput },
  keyBudgets: KeyBudgets.KeyBudgets["Type"],
  append: AuditLog["Type"]["append"],
) => {
  const { budgets } = keyBudgets
  const books = new Books(Duration.toMillis(options.lease), [], [], [], budgets)
  keyBudgets.books = books
  // This store does not know the names of accounts.
  const noteEntry = (action: string, subject: AccountId, detail: Detail) =>
    append({ action, subject, detail })
  const isSteady = SteadyClock.make()
  const atNow = <A, E>(change: (now: number) => Either.Either<A, E>): Effect.Effect<A, E> =>
    Effect.flatMap(Clock.currentTimeMillis, change)

  return CreditLedger.of({
    balance: (account) => Effect.sync(() => books.balance(account)),
    open: (hold) => atNow((now) => books.open(hold, now)),
    settle: (hold, charge, answer) => atNow((now) => books.settle(hold, charge, answer, now)),
    charge: (hold, charge, answer) => atNow((now) => books.charge(hold, charge, answer, now)),
    release: (hold) => Effect.asVoid(atNow(() => books.release(hold))),
    grant: (account, amount, note) =>
      Effect.tap(
        atNow((now) => books.grant(account, amount, note, now)),
        ({ entries }) => noteEntry("credits.grant", account, { amount, note, entry: entries }),
      ),

    correct: (account, amount, note) =>
      Effect.tap(
        atNow((now) => books.correct(account, amount, note, now)),
        ({ entries }) => noteEntry("credits.correct", account, { amount, note, entry: entries }),
      ),
    budgets: (keys) => Effect.map(Clock.currentTimeMillis, (now) => budgets.spentBy(keys, now)),

    expire: Effect.zipWith(Clock.currentTimeMillis, isSteady, (now, steady) => {
      const expired = [...books.openHolds].filter(({ expiresAt }) => expiresAt <= now)
      for (const hold of expired) books.release(hold)
      books.forgetKeys(now, steady)
      return expired.length
    }),

    totals: (amounts) =>
      Effect.sync(() => {
        const balances = [...books.changed].map((account) => books.balance(account))
        return {
          held: creditsOf(balances.reduce((sum, { held }) => sum + held, 0)),
          accountsBelow: amounts.map(
            (amount) => balances.filter((balance) => available(balance) < amount).length,
          ),
        }
      }),

    statement: (account, { since = -Infinity, until = Infinity }) =>
      Stream.suspend(() =>
        Stream.fromIterable(
          entriesOf(books, account).filter(({ at }) => since <= at && at < until),
        ),
      ),

    usage: (question) => Effect.sync(() => Usage.sumsOf(books.usage.values(), question)),

    verify: verify(books),
  })
}

const entriesOf = ({ newEntries }: Books, account: AccountId) =>
  newEntries.filter(({ accountId }) => accountId === account)

const holdsOf = ({ openHolds }: Books, account: AccountId) =>
  [...openHolds].filter(({ accountId }) => accountId === account)

const verify = (books: Books) =>
  Stream.suspend(() => Stream.fromIterable([...books.changed])).pipe(
    Stream.mapEffect((accountId) => {
      const entries = entriesOf(books, accountId)
      return Audit.examine({
        accountId,
        balance: books.balance(accountId),
        openHolds: holdsOf(books, accountId).reduce((sum, { amount }) => sum + amount, 0),
        lastEntry: entries.length,
        budgets: budgetsOf(books, accountId),
        entries: Stream.map(Stream.fromIterable(entries), Either.right),
      })
    }),
    Audit.summarize,
  )

const budgetsOf = (books: Books, account: AccountId) => {
  const { budgets } = books
  const holds = holdsOf(books, account)
  const entries = entriesOf(books, account)
  const keys = new Set([...holds, ...entries].flatMap(({ apiKeyId }) => apiKeyId ?? []))
  const inForce = [...keys].flatMap((key) => {
    const budget = budgets.of(key)
    return budget === undefined ? [] : [[key, budget] as const]
  })
  return {
    existing: inForce.length,
    recorded: inForce.length,
    budgets: inForce,
    uses: [...new Set(inForce.map(([, { id }]) => id))].flatMap((id) => budgets.usesOf(id)),
    holds: holds.flatMap(({ amount, apiKeyId, heldAt }) =>
      apiKeyId == null || heldAt === null || budgets.of(apiKeyId) === undefined
        ? []
        : { amount, apiKeyId, heldAt },
    ),
  }
}
