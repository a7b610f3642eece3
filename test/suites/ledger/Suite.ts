/**
 * The tests that every credit ledger must pass, for any test runner. Our tests run them over our
 * ledgers in SQLite and PostgreSQL.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { AccountId } from "../../../src/accounts/Account.ts"
import type { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import { Bench } from "./Bench.ts"
import * as commands from "./commands.ts"
import * as holds from "./holds.ts"
import * as idempotencyKeys from "./idempotencyKeys.ts"
import * as statements from "./statements.ts"
import * as usage from "./usage.ts"

export interface LedgerSuiteOptions<R> {
  /** How long the ledger keeps a hold that is neither settled nor released: at least 30 seconds. */
  readonly lease: Duration.DurationInput
  /**
   * Lets time pass for the ledger: `TestClock.adjust`, with Effect's `TestContext`, for a ledger that
   * reads Effect's clock. The ledger may end holds and forget answers in that time, without a call
   * of `expire`.
   */
  readonly elapse: (time: Duration.DurationInput) => Effect.Effect<unknown, unknown, R>
  /** Makes an account without credits that no other test uses. */
  readonly newAccount: Effect.Effect<AccountId, unknown, R>
  /** How many random sequences of commands are tried. Default: 10. */
  readonly runs?: number
}

/** `effect` fails or dies with a message that says what the ledger did wrong. */
export interface LedgerTest<R> {
  readonly name: string
  readonly effect: Effect.Effect<void, unknown, CreditLedger | R>
}

/**
 * Returns the tests of a credit ledger. Run them one after the other, because some of them end the
 * open holds of the tests before, and use the ledger for nothing else meanwhile.
 */
export const ledgerSuite = <R = never>(
  options: LedgerSuiteOptions<R>,
): ReadonlyArray<LedgerTest<R>> =>
  [
    ...holds.tests,
    ...idempotencyKeys.tests,
    ...statements.tests,
    ...commands.tests,
    ...usage.tests,
  ].map(([name, test]) => ({
    name,
    effect: Effect.flatMap(Effect.context<R>(), (context) => {
      const provided = <A>(effect: Effect.Effect<A, unknown, R>) =>
        Effect.orDie(Effect.provide(effect, context))
      return Effect.provideService(test, Bench, {
        newAccount: provided(options.newAccount),
        lease: Duration.decode(options.lease),
        elapse: (time) => provided(options.elapse(time)),
        runs: options.runs ?? 10,
      })
    }),
  }))
