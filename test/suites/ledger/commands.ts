/** Random sequences of concurrent commands, compared with a simple model of one account. */
import assert from "node:assert/strict"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import type { AccountId } from "../../../src/accounts/Account.ts"
import type { CreditLedger } from "../../../src/ledger/CreditLedger.ts"
import type { Hold } from "../../../src/ledger/Hold.ts"
import type { StoreTimeout } from "../../../src/ledger/StoreTimeout.ts"
import {
  atOnce,
  Bench,
  elapse,
  endAllHolds,
  expectFigures,
  expectSound,
  forAll,
  type Test,
  newAccount,
} from "./Bench.ts"
import { expire, grant, hold, settle, statement } from "../../../scripts/support/ledgerCalls.ts"

/** `of` selects one of all holds so far. `share` is the charged part of the hold, from 0 to 1. */
type Settle = { readonly kind: "settle"; readonly of: number; readonly share: number }
type Grant = { readonly kind: "grant"; readonly amount: number }
type TakeHold = { readonly kind: "hold"; readonly amount: number }
type Command = Grant | TakeHold | Settle

const amount = (max: number) => fc.integer({ min: 1, max })
const settles: fc.Arbitrary<Settle> = fc.record({
  kind: fc.constant("settle" as const),
  of: fc.nat(1000),
  share: fc.constantFrom(0, 0.5, 1),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant("grant" as const), amount: amount(50) }),
  fc.record({ kind: fc.constant("hold" as const), amount: amount(40) }),
  fc.record({ kind: fc.constant("hold" as const), amount: amount(5) }),
  { weight: 2, arbitrary: settles },
)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("together" as const),
      commands: fc.array(command, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lapse" as const),
      settles: fc.array(settles, { maxLength: 4 }),
      sweepFirst: fc.boolean(),
    }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

/** A simple model of one account, with the expected balance and entries. */
class Model {
  readonly account: AccountId
  granted = 0
  charged = 0
  readonly entries: Array<string> = []
  readonly everHeld: Array<Hold> = []
  readonly open = new Set<Hold>()

  constructor(account: AccountId) {
    this.account = account
  }

  get held() {
    return sumOf([...this.open])
  }

  get available() {
    return this.granted - this.charged - this.held
  }

  apply(outcomes: ReadonlyArray<Outcome>) {
    for (const one of outcomes) {
      if (one.kind === "granted") this.add("grant", one.amount)
      else if (one.kind === "held") {
        this.everHeld.push(one.hold)
        this.open.add(one.hold)
      } else if (one.kind === "settled") {
        assert.ok(this.open.delete(one.hold), "a hold that had ended was settled")
        this.add("charge", one.amount)
      }
    }
  }

  private add(kind: "grant" | "charge", amount: number) {
    if (kind === "grant") this.granted += amount
    else this.charged += amount
    if (amount > 0) this.entries.push(`${kind} ${amount}`)
  }
}

const sumOf = (holds: ReadonlyArray<Hold>) => holds.reduce((sum, { amount }) => sum + amount, 0)

type Outcome =
  | { readonly kind: "granted"; readonly amount: number }
  | { readonly kind: "held"; readonly hold: Hold }
  | { readonly kind: "refused"; readonly amount: number; readonly available: number }
  | { readonly kind: "settled"; readonly hold: Hold; readonly amount: number }
  | { readonly kind: "expired"; readonly hold: Hold }

const run = (
  command: Command,
  { account, everHeld }: Model,
): Effect.Effect<Outcome, StoreTimeout, CreditLedger> => {
  if (command.kind === "grant") {
    const { amount } = command
    return Effect.as(grant(account, amount), { kind: "granted", amount })
  }
  if (command.kind === "hold") {
    const { amount } = command
    return Effect.match(hold(account, amount), {
      onSuccess: (hold) => ({ kind: "held", hold }),
      onFailure: ({ available }) => ({ kind: "refused", amount, available }),
    })
  }
  const held = everHeld[command.of % everHeld.length]
  if (held === undefined) return Effect.succeed({ kind: "granted", amount: 0 })
  const amount = Math.floor(held.amount * command.share)
  return settle(held, amount).pipe(
    Effect.as<Outcome>({ kind: "settled", hold: held, amount }),
    Effect.catchTag("HoldExpired", () => Effect.succeed({ kind: "expired" as const, hold: held })),
  )
}

/** Runs commands concurrently. The ledger may run them in any order. */
const together = (model: Model, commands: ReadonlyArray<Command>) =>
  Effect.gen(function* () {
    const before = model.available
    const outcomes = yield* Effect.forEach(commands, (command) => run(command, model), atOnce)
    model.apply(outcomes)
    const opened = outcomes.flatMap((one) => (one.kind === "held" ? [one.hold] : []))
    const least = before - sumOf(opened)
    for (const one of outcomes) {
      if (one.kind === "refused") {
        assert.ok(one.amount > one.available && one.amount > least, "a hold was refused wrongly")
      } else if (one.kind === "expired") {
        assert.ok(!model.open.has(one.hold), "an open hold was not settled")
      }
    }
  })

/** Ends all leases. Each hold is then either settled late or expired, never both. */
const lapse = (model: Model, settles: ReadonlyArray<Settle>, sweepFirst: boolean) =>
  Effect.gen(function* () {
    yield* elapse((yield* Bench).lease)
    const late = Effect.forEach(settles, (command) => run(command, model), atOnce)
    const [swept, outcomes] = yield* sweepFirst
      ? Effect.all([expire, late], atOnce)
      : Effect.map(
          Effect.all([late, expire], atOnce),
          ([outcomes, swept]) => [swept, outcomes] as const,
        )
    model.apply(outcomes)
    assert.equal(swept, model.open.size, "the number of expired holds")
    model.open.clear()
  })

const behavesLikeTheModel = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    yield* endAllHolds
    const account = yield* newAccount
    const model = new Model(account)
    for (const step of steps) {
      yield* step.kind === "together"
        ? together(model, step.commands)
        : lapse(model, step.settles, step.sweepFirst)
      const { available, charged, granted, held } = model
      assert.ok(available >= 0, "the ledger allowed more than the account has")
      yield* expectFigures(account, { available, charged, granted, held })
    }
    const entries = yield* statement(account)
    assert.deepEqual(
      entries.map(({ amount, kind }) => `${kind} ${amount}`).sort(),
      model.entries.sort(),
    )
    yield* expectSound(account)
  })

export const tests: ReadonlyArray<Test> = [
  [
    "any sequence of concurrent ledger commands leaves the balance that a simple model predicts",
    Effect.flatMap(Bench, ({ runs }) =>
      forAll(fc.array(step, { minLength: 1, maxLength: 8 }), runs, behavesLikeTheModel),
    ),
  ],
]
