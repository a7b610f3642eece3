import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Accounts } from "../Account.ts"
import { counted } from "../text/counted.ts"
import * as Balance from "../ledger/Balance.ts"
import { CreditLedger } from "../CreditLedger.ts"
import { accountOption, decoded, json, wholeNumber } from "./options.ts"
import { although, print, table } from "./Output.ts"

/** The JSON document of `credits balance` and `credits grant`. */
const summary = (account: string, balance: Balance.Balance) => ({
  account,
  available: Balance.available(balance),
  held: balance.held,
  granted: balance.granted,
  charged: balance.charged,
})

export const grant = Command.make(
  "grant",
  {
    account: accountOption,
    amount: Options.text("amount").pipe(
      Options.withPseudoName("N"),
      Options.mapEffect(decoded("--amount", wholeNumber(1, " of credits"))),
      Options.withDescription("Whole credits to add, at least 1"),
    ),
    note: Options.text("note").pipe(
      Options.withPseudoName("TEXT"),
      Options.optional,
      Options.withDescription(
        "Reason for the grant, shown in the account's statement (default: none)",
      ),
    ),
    json,
  },
  ({ account, amount, json, note }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id, name } = yield* accounts.find(account)
      const balance = yield* ledger.grant(id, amount, Option.getOrNull(note))
      yield* print(
        json,
        summary(name, balance),
        `Granted ${counted(amount, "credit")} to ${name}, which now has ${counted(Balance.available(balance), "credit")} available.`,
      ).pipe(although("the credits are granted"))
    }),
).pipe(Command.withDescription("Add credits to an account"))

export const balance = Command.make(
  "balance",
  { account: accountOption, json },
  ({ account, json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id, name } = yield* accounts.find(account)
      const document = summary(name, yield* ledger.balance(id))
      const { available, charged, granted, held } = document
      yield* print(
        json,
        document,
        table(["AVAILABLE", "HELD", "GRANTED", "CHARGED"], [[available, held, granted, charged]]),
      )
    }),
).pipe(Command.withDescription("Show the credits of an account"))

class BooksBroken extends Data.TaggedError("BooksBroken")<{ readonly problems: number }> {
  override get message() {
    return `the ledger has errors (${counted(this.problems, "problem")}); grant no more credits, and restore a backup`
  }
}

export const verify = Command.make("verify", { json }, ({ json }) =>
  Effect.gen(function* () {
    const ledger = yield* CreditLedger
    const { accounts, entries, problems } = yield* ledger.verify
    const ok = problems.length === 0
    yield* print(
      json,
      { ok, accounts, entries, problems },
      [
        ...problems,
        `Verified ${counted(accounts, "account")} and ${counted(entries, "entry", "entries")}: ${counted(problems.length, "problem")}.`,
      ].join("\n"),
    )
    if (!ok) return yield* new BooksBroken({ problems: problems.length })
  }),
).pipe(Command.withDescription("Recompute every balance and hash; exit with 1 on any error"))
