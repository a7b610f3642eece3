/** The ledger's methods with plain numbers, for tests. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../../src/accounts/Account.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { CreditLedger, type Period } from "../../src/ledger/CreditLedger.ts"
import type { Hold, IdempotencyKey } from "../../src/ledger/Hold.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { RequestId } from "../../src/check/RequestId.ts"

export const credits = (n: number) => Credits.make(n)

export const newRequest = () => RequestId.make(uuid())

/** Returns the data of a hold with a new request id. Does not store the hold. */
export const newHold = (
  accountId: AccountId,
  amount: number,
  idempotencyKey?: IdempotencyKey,
): Hold => ({ accountId, requestId: newRequest(), amount: credits(amount), idempotencyKey })

/** Opens a hold that has no idempotency key. */
export const hold = (account: AccountId, amount: number) =>
  Effect.suspend(() => {
    const hold = newHold(account, amount)
    return Effect.as(Effect.catchTags(open(hold), impossibleErrors), hold)
  })

// Errors that `hold` cannot get: they occur only for a request with an idempotency key, a
// limit, a key's budget or a deadline, and `hold` sets none of them. If one of these errors occurs nevertheless, `hold` dies.
const impossibleErrors = {
  LimitExceeded: Effect.die,
  BudgetExceeded: Effect.die,
  IdempotencyKeyReused: Effect.die,
  IdempotencyKeyInUse: Effect.die,
  StoreTimeout: Effect.die,
} as const

/**
 * Opens a hold. If the idempotency key of the hold has a stored answer, returns this answer
 * instead.
 */
export const open = (hold: Hold) =>
  Effect.map(
    Effect.flatMap(CreditLedger, (ledger) => ledger.open(hold)),
    Option.getOrUndefined,
  )

/** Settles a hold with a charge of `amount` credits for `amount` URLs. */
export const settle = (hold: Hold, amount: number, answer?: string) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.settle(hold, chargeOf(amount), answer))

/** Calls the ledger's `charge`. Returns the stored answer of the hold's idempotency key, if any. */
export const chargeAtOnce = (hold: Hold, amount: number, answer?: string) =>
  Effect.map(
    Effect.flatMap(CreditLedger, (ledger) => ledger.charge(hold, chargeOf(amount), answer)),
    Option.getOrUndefined,
  )

export const release = (hold: Hold) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.release(hold))

const chargeOf = (amount: number) => ({ amount: credits(amount), urls: amount })

export const grant = (account: AccountId, amount: number, note: string | null = null) =>
  Effect.flatMap(CreditLedger, (ledger) =>
    Effect.orDie(ledger.grant(account, credits(amount), note)),
  )

export const charge = (account: AccountId, amount: number) =>
  Effect.flatMap(hold(account, amount), (held) => settle(held, amount))

export const expire = Effect.flatMap(CreditLedger, (ledger) => ledger.expire)

export const figures = (account: AccountId) =>
  Effect.map(
    Effect.flatMap(CreditLedger, (ledger) => ledger.balance(account)),
    (balance) => ({
      granted: Number(balance.granted),
      charged: Number(balance.charged),
      held: Number(balance.held),
      available: Balance.available(balance),
    }),
  )

export const statement = (account: AccountId, period: Period = {}) =>
  Effect.flatMap(CreditLedger, (ledger) =>
    Effect.map(Stream.runCollect(ledger.statement(account, period)), Chunk.toReadonlyArray),
  )

/** Verifies all books and returns the problems of one account. */
export const problemsOf = (account: AccountId) =>
  Effect.map(
    Effect.flatMap(CreditLedger, (ledger) => ledger.verify),
    ({ problems }) => {
      const start = `account ${account}: `
      return problems.flatMap((one) => (one.startsWith(start) ? [one.slice(start.length)] : []))
    },
  )
