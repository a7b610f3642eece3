/** Clients that charge a ledger without pause, and record acknowledged charges and failures. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AccountId } from "../../src/accounts/Account.ts"
import type { RequestId } from "../../src/check/RequestId.ts"
import { StoreFailure } from "../../src/database/StoreFailure.ts"
import { assert } from "@effect/vitest"
import { figures, hold, problemsOf, settle, statement } from "../../scripts/support/ledger.ts"

interface Load {
  /** The requests whose charge of one credit was acknowledged. */
  readonly acknowledged: Array<RequestId>
  /** The messages of the failed requests. */
  readonly failures: Array<string>
  /** Set to true to end the clients. */
  isOver: boolean
}

export const newLoad = (): Load => ({ acknowledged: [], failures: [], isOver: false })

/** Runs clients that charge one credit at a time until `isOver`. */
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
      else load.failures.push(storeFailureMessage(exit.cause))
    }),
    // Let the other clients run, even if nothing in this one was asynchronous.
    Effect.zipRight(Effect.sleep(1)),
  )

/** Returns the message of a store failure, as the operator sees it. */
export const storeFailureMessage = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof StoreFailure ? error.message : `not described: ${String(error)}`
}

/** Checks that every acknowledged charge is stored once, and that the books add up. */
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
