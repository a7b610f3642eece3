import assert from "node:assert/strict"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as Runtime from "effect/Runtime"
import type { AccountId } from "../../../src/accounts/Account.ts"
import type { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import { expire, figures, grant, problemsOf } from "../../../scripts/support/ledgerCalls.ts"

/** What the tests need to know about the ledger under test. */
export class Bench extends Context.Tag("authority/testing/Bench")<
  Bench,
  {
    readonly newAccount: Effect.Effect<AccountId>
    readonly lease: Duration.Duration
    readonly elapse: (time: Duration.DurationInput) => Effect.Effect<void>
    readonly runs: number
  }
>() {}

export type Test = readonly [name: string, test: Effect.Effect<void, unknown, CreditLedger | Bench>]

/** A period longer than the ledger's own clock may advance during a test. */
export const margin = "10 seconds"

export const atOnce = { concurrency: "unbounded" } as const

export const newAccount = Effect.flatMap(Bench, (bench) => bench.newAccount)

/** Creates an account with credits. */
export const newAccountWith = (credits: number) =>
  Effect.tap(newAccount, (account) => grant(account, credits))

/** Lets time pass for the ledger. */
export const elapse = (time: Duration.DurationInput) =>
  Effect.flatMap(Bench, (bench) => bench.elapse(time))

/** Lets a lease pass, and ends the holds whose lease is over. Returns their number. */
export const endAllHolds = Effect.flatMap(Bench, ({ elapse, lease }) =>
  Effect.zipRight(elapse(lease), expire),
)

/** Runs an effect that must fail with the error of this tag. Returns the error. */
export const refused = <A, E extends { readonly _tag: string }, R>(
  tag: E["_tag"],
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<E, never, R> =>
  Effect.map(Effect.either(effect), (result) => {
    assert.ok(Either.isLeft(result), `the ledger accepted what it must refuse with ${tag}`)
    assert.equal(result.left._tag, tag)
    return result.left
  })

/** Checks those figures of an account that are given. */
export const expectFigures = (
  account: AccountId,
  expected: Partial<Effect.Effect.Success<ReturnType<typeof figures>>>,
) =>
  Effect.map(figures(account), (actual) =>
    assert.deepEqual(actual, { ...actual, ...expected }, `the figures of account ${account}`),
  )

/** Checks that the ledger finds its books of an account correct. */
export const expectSound = (account: AccountId) =>
  Effect.map(problemsOf(account), (problems) => assert.deepEqual(problems, []))

/** Checks a property for random values. A failure reports the smallest value found. */
export const forAll = <A, R>(
  values: fc.Arbitrary<A>,
  numRuns: number,
  property: (value: A) => Effect.Effect<void, unknown, R>,
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(values, (value) => Runtime.runPromise(runtime)(property(value))),
        { numRuns },
      ),
    ),
  )
