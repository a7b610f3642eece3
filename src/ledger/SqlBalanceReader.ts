/** Reads balances. Reads that begin in the same turn of the event loop share one query. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AccountId } from "../Account.ts"
import type { CreditLedger } from "./CreditLedger.ts"
import { awaited } from "../Direct.ts"
import * as Balance from "./Balance.ts"
import { StoreTimeout } from "./StoreTimeout.ts"
import * as Failure from "../sql/Failure.ts"
import * as GroupCommit from "./GroupCommit.ts"
import type { Queries } from "./SqlLedger.ts"
import { retryAfterDisconnection } from "../sql/retry.ts"

interface Reader {
  readonly accountId: AccountId
  readonly answer: (balance: Balance.Balance) => void
}

/** Returns a function that reads the balance of an account, or fails after the Deadline. */
export const make = (
  queries: Queries,
): Effect.Effect<CreditLedger["Type"]["balance"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const readers = yield* GroupCommit.make((readers: ReadonlyArray<Reader>) =>
      Effect.map(
        queries
          .balances([...new Set(readers.map(({ accountId }) => accountId))])
          .pipe(retryAfterDisconnection, Failure.orDie),
        (rows) => {
          const balances = new Map(rows.map(({ accountId, ...balance }) => [accountId, balance]))
          for (const { accountId, answer } of readers) {
            answer(balances.get(accountId) ?? Balance.empty)
          }
        },
      ),
    )
    return (accountId) =>
      Effect.suspend(() => {
        let balance = Balance.empty
        const answer = (found: Balance.Balance) => {
          balance = found
        }
        return awaited<void, GroupCommit.GivenUp>((callback, deadline) =>
          readers.submit({ accountId, answer }, callback, deadline),
        ).pipe(
          Effect.mapError(() => new StoreTimeout({ mayCharge: false })),
          Effect.map(() => balance),
        )
      })
  })
