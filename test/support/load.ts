/** Clients of a ledger that lose patience with nothing: what it acknowledged, and what it did not. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AccountId } from "../../src/Account.ts"
import type { RequestId } from "../../src/RequestId.ts"
import { StoreFailure } from "../../src/StoreFailure.ts"
import { assert } from "@effect/vitest"
import { figures, hold, problemsOf, settle, statement } from "../../scripts/support/ledger.ts"

export interface Load {
  /** Requests that were told of their charge of one credit. */
  readonly acknowledged: Array<RequestId>
  /** What the others were told. */
  readonly failures: Array<string>
  /** Asks the clients to come to an end. */
  isOver: boolean
}

export const newLoad = (): Load => ({ acknowledged: [], failures: [], isOver: false })

/** Clients that charge one credit after the other until the load is over. */
export const run = (load: Load, account: AccountId, clients: number) =>
  Effect.forEach(Array(clients).keys(), () => Effect.repeat(one(load, account), until(load)), {
    concurrency: "unbounded",
    discard: true,
  })

const until = (load: Load) => ({ until: () => load.isOver })

const one = (load: Load, account: AccountId) =>
  Effect.gen(function* () {
    const held = yield* hold(account, 1)
    yield* settle(held, 1)
    return held.requestId
  }).pipe(
    Effect.exit,
    Effect.map((exit) => {
      if (Exit.isSuccess(exit)) load.acknowledged.push(exit.value)
      else load.failures.push(saidBy(exit.cause))
    }),
    // The others get their turn even when nothing has to be waited for.
    Effect.zipRight(Effect.sleep(1)),
  )

/** What a store that broke tells the operator. */
export const saidBy = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof StoreFailure ? error.message : `not described: ${String(error)}`
}

/** Every acknowledged charge is there once, none beyond what failed, and the books add up. */
export const nothingIsLost = (load: Load, account: AccountId) =>
  Effect.gen(function* () {
    const charges = (yield* statement(account)).flatMap(({ requestId }) => requestId ?? [])
    assert.includeMembers(charges, load.acknowledged)
    assert.strictEqual(new Set(charges).size, charges.length)
    assert.isAtMost(charges.length, load.acknowledged.length + load.failures.length)
    const { charged, held } = yield* figures(account)
    assert.strictEqual(charged, charges.length)
    assert.isAtMost(held, load.failures.length)
    assert.deepStrictEqual(yield* problemsOf(account), [])
  })
