import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { AccountName, Accounts } from "../Account.ts"
import { counted } from "../text/counted.ts"
import { CreditLedger } from "../CreditLedger.ts"
import * as Balance from "../ledger/Balance.ts"
import { Credits } from "../ledger/Credits.ts"
import { failWithStoreFailure } from "../StoreFailure.ts"
import { decoded, json, wholeNumber } from "./options.ts"
import { although, print, table } from "./Output.ts"

const toName = decoded("NAME", AccountName)

export const create = Command.make(
  "create",
  {
    name: Args.text({ name: "NAME" }).pipe(
      Args.mapEffect((text) => Effect.mapError(toName(text), ({ error }) => error)),
      Args.withDescription("Name of the new account"),
    ),
    credits: Options.text("credits").pipe(
      Options.withPseudoName("N"),
      Options.mapEffect(decoded("--credits", wholeNumber(0, " of credits"))),
      Options.withDefault(Credits.make(0)),
      Options.withDescription("Credits to grant to the new account (default: 0)"),
    ),
    json,
  },
  ({ credits, json, name }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id } = yield* accounts.create(name)
      if (credits > 0) yield* ledger.grant(id, credits, "opening grant")
      yield* print(
        json,
        { account: { id, name }, credits },
        `Created the account ${name} with ${counted(credits, "credit")} (${id}).`,
      ).pipe(although("the account is created"))
    }),
).pipe(Command.withDescription("Create an account"))

class UnreadableBalance extends Data.TaggedError("UnreadableBalance")<{
  readonly name: string
  readonly problem: string
}> {
  override get message() {
    return `the balance of ${this.name} cannot be read (${this.problem}); run 'authority credits verify'`
  }
}

export const list = Command.make("list", { json }, ({ json }) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ledger = yield* CreditLedger
    const rows = yield* Effect.forEach(yield* accounts.list, ({ id, name }) =>
      ledger.balance(id).pipe(
        Effect.map((balance) => ({ id, name, available: Balance.available(balance) })),
        failWithStoreFailure,
        Effect.catchTag("StoreFailure", ({ message }) =>
          Effect.succeed({ id, name, available: null, problem: message }),
        ),
      ),
    )
    yield* print(
      json,
      { accounts: rows },
      table(
        ["NAME", "AVAILABLE", "ID"],
        rows.map(({ available, id, name }) => [name, available ?? "unreadable", id]),
      ),
    )
    for (const row of rows) {
      if ("problem" in row) return yield* new UnreadableBalance(row)
    }
  }),
).pipe(Command.withDescription("List the accounts and their available credits"))
