/** The ledger in memory, for tests: nothing survives the process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { AccountId } from "../Account.ts"
import * as Audit from "../ledger/Audit.ts"
import * as Balance from "../ledger/Balance.ts"
import { Books } from "../ledger/Books.ts"
import { CreditLedger } from "../CreditLedger.ts"
import type { Hold } from "../ledger/Hold.ts"
import { Receipts } from "../Receipts.ts"
import type { RequestId } from "../RequestId.ts"

export const layer = (options: {
  readonly lease: Duration.DurationInput
}): Layer.Layer<CreditLedger, never, Receipts> =>
  Layer.effect(
    CreditLedger,
    Effect.map(Receipts, (receipts) => {
      const books = new Books([], [], [])
      const leases = new Map<RequestId, { readonly hold: Hold; readonly expiresAt: number }>()
      const entriesOf = (account: AccountId) =>
        books.newEntries.filter(({ accountId }) => accountId === account)

      return CreditLedger.of({
        balance: (account) => Effect.sync(() => books.balance(account)),

        hold: (accountId, amount, requestId) =>
          Effect.gen(function* () {
            const hold = yield* books.hold({ accountId, amount, requestId })
            const expiresAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(options.lease)
            leases.set(requestId, { hold, expiresAt })
            return hold
          }),

        settle: (hold, charge, receipt) =>
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            if (receipt !== undefined && leases.has(hold.requestId)) {
              // Dies before anything is kept when it would die afterwards.
              Balance.settle(books.balance(hold.accountId), hold, charge, now)
              if (yield* receipts.keep(receipt)) books.claims.add(receipt.claim.requestId)
            }
            const settled = books.settle(hold, charge, receipt, now)
            leases.delete(hold.requestId)
            yield* settled
          }),

        charge: (hold, charge) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => books.charge(hold, charge, now)),

        grant: (account, amount, note) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => books.grant(account, amount, note, now)),

        expire: Effect.map(Clock.currentTimeMillis, (now) => {
          const expired = [...leases.values()].filter(({ expiresAt }) => expiresAt <= now)
          for (const { hold } of expired) {
            leases.delete(hold.requestId)
            books.expire(hold)
          }
          return expired.length
        }),

        statement: (account, { since = -Infinity, until = Infinity }) =>
          Stream.suspend(() =>
            Stream.fromIterable(entriesOf(account).filter(({ at }) => since <= at && at < until)),
          ),

        verify: Stream.suspend(() => Stream.fromIterable([...books.changed])).pipe(
          Stream.mapEffect((accountId) =>
            Audit.examine({
              accountId,
              balance: books.balance(accountId),
              openHolds: [...leases.values()]
                .filter(({ hold }) => hold.accountId === accountId)
                .reduce((sum, { hold }) => sum + hold.amount, 0),
              lastEntry: entriesOf(accountId).length,
              entries: Stream.map(Stream.fromIterable(entriesOf(accountId)), Either.right),
            }),
          ),
          Audit.summarize,
        ),
      })
    }),
  )
