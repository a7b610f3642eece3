/** The ledger's methods with plain numbers, for tests. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { v7 as uuid } from "uuid"
import type { AccountId } from "../../src/Account.ts"
import * as Balance from "../../src/ledger/Balance.ts"
import { CreditLedger, type Period } from "../../src/CreditLedger.ts"
import type { Hold } from "../../src/ledger/Hold.ts"
import { Credits } from "../../src/ledger/LedgerEntry.ts"
import { RequestId } from "../../src/RequestId.ts"

export const credits = (n: number) => Credits.make(n)

export const newRequest = () => RequestId.make(uuid())

/** A hold for a request of its own. */
export const hold = (account: AccountId, amount: number) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.hold(account, credits(amount), newRequest()))

/** At a price of one credit for each URL. */
export const settle = (hold: Hold, amount: number) =>
  Effect.flatMap(CreditLedger, (ledger) =>
    ledger.settle(hold, { amount: credits(amount), urls: amount }),
  )

export const grant = (account: AccountId, amount: number, note: string | null = null) =>
  Effect.flatMap(CreditLedger, (ledger) => ledger.grant(account, credits(amount), note))

/** Holds and settles the whole. */
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

/** What an examination of all books says of one account. */
export const problemsOf = (account: AccountId) =>
  Effect.map(
    Effect.flatMap(CreditLedger, (ledger) => ledger.verify),
    ({ problems }) => {
      const start = `account ${account}: `
      return problems.flatMap((one) => (one.startsWith(start) ? [one.slice(start.length)] : []))
    },
  )
