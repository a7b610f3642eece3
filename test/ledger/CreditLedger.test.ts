/**
 * Runs the public ledger suite over the project's own ledgers, and over ledgers with a planted
 * fault.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Accounts } from "../../src/accounts/Account.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { creditsOf } from "../../src/ledger/Credits.ts"
import { ledgerSuite } from "../suites/ledger/Suite.ts"
import { newAccount } from "../../scripts/support/accounts.ts"
import { runs } from "../support/properties.ts"
import { elapse, lease, stores } from "../support/Stores.ts"

const suite = ledgerSuite<Accounts | SqlClient.SqlClient>({
  lease,
  elapse,
  newAccount: Effect.map(newAccount, ({ id }) => id),
  runs: runs(7),
})

for (const [name, store] of stores) {
  layer(store)(`CreditLedger in ${name}`, (it) => {
    for (const { effect, name } of suite) it.effect(name, () => effect)
  })
}

type Ledger = CreditLedger["Type"]

/** Faults of a ledger, each with the name of a test (or part of it) that must find the fault. */
const faults: ReadonlyArray<
  readonly [fault: string, name: RegExp, breaking: (ledger: Ledger) => Partial<Ledger>]
> = [
  [
    "charges the whole hold",
    /^settling a hold charges the given amount/,
    ({ settle }) => ({
      settle: (hold, charge, answer) =>
        settle(hold, { ...charge, amount: charge.amount && hold.amount }, answer),
    }),
  ],
  [
    "forgets the answers",
    /^a stored answer is returned byte for byte/,
    ({ charge, settle }) => ({
      settle: (hold, one) => settle(hold, one),
      charge: (hold, one) => charge(hold, one),
    }),
  ],
  [
    "ignores idempotency keys",
    /^twenty concurrent charges with one idempotency key/,
    ({ charge }) => ({
      charge: (hold, one) => charge({ ...hold, idempotencyKey: undefined }, one),
    }),
  ],
  [
    "gives credits to everyone",
    /^concurrent charges/,
    ({ charge, grant }) => ({
      charge: (hold, one, answer) =>
        Effect.zipRight(
          Effect.orDie(grant(hold.accountId, creditsOf(1), null)),
          charge(hold, one, answer),
        ),
    }),
  ],
  ["never ends a lease", /^a hold that is never settled/, () => ({ expire: Effect.succeed(0) })],
  [
    "accepts what it does not hold",
    /^a hold of more credits than are available/,
    () => ({ open: () => Effect.succeed(Option.none()) }),
  ],
  ["does not release", /^releasing a hold twice/, () => ({ release: () => Effect.void })],
  [
    "counts accounts that have exactly the amount",
    /^the ledger's totals/,
    ({ totals }) => ({ totals: (amounts) => totals(amounts.map((one) => creditsOf(one + 1))) }),
  ],
  [
    "forgets a charge whose caller leaves",
    /even if their caller is interrupted$/,
    ({ settle }) => ({ settle: (...call) => Effect.zipRight(Effect.yieldNow(), settle(...call)) }),
  ],
]

describe("a ledger with a fault", () => {
  const [[, memory] = []] = stores
  for (const [fault, named, breaking] of faults) {
    it.effect(`the suite finds a ledger that ${fault}`, () =>
      Effect.gen(function* () {
        assert.isDefined(memory)
        const broken = Layer.effect(
          CreditLedger,
          Effect.map(CreditLedger, (ledger) => ({ ...ledger, ...breaking(ledger) })),
        )
        const store = Layer.provideMerge(broken, memory ?? Layer.die("there is no store"))
        const tests = suite.filter(({ name }) => named.test(name))
        assert.lengthOf(tests, 1)
        for (const { effect } of tests) {
          assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(effect, store))))
        }
      }),
    )
  }
})
