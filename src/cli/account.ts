import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AccountName, Accounts } from "../Account.ts"
import { refused } from "../AuditLog.ts"
import { StoredText } from "../ShortText.ts"
import { counted } from "../text/counted.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import * as Balance from "../ledger/Balance.ts"
import * as Database from "./Database.ts"
import { although, print, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

const create = Verb.make({
  examples: ["authority account create acme --credits 1000"],
  declare: (command) =>
    command
      .argument("<NAME>", "name of the new account")
      .option("--credits <N>", "credits to grant to the new account", "0"),
  options: Schema.Struct({
    name: AccountName,
    credits: Verb.wholeNumber(0, " of credits"),
    json: Verb.json,
  }),
  run: ({ credits, json, name }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const { id } = yield* accounts.create(name).pipe(refused("account.create", name))
      if (credits > 0) yield* ledger.grant(id, credits, "opening grant")
      yield* print(
        json,
        { account: { id, name }, credits },
        `Created the account ${name} with ${counted(credits, "credit")} (${id}).`,
      ).pipe(although("the account is created"))
    }).pipe(Effect.provide(Database.existingOrNew)),
})

const list = Verb.make({
  examples: ["authority account list"],
  options: Schema.Struct({ json: Verb.json }),
  run: ({ json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* CreditLedger
      const rows = yield* Effect.forEach(yield* accounts.list, ({ id, name, suspendedAt }) =>
        Effect.map(ledger.balance(id), (balance) => ({
          id,
          name,
          available: Balance.available(balance),
          suspended: suspendedAt !== null,
        })),
      )
      yield* print(
        json,
        { accounts: rows },
        table(
          ["NAME", "AVAILABLE", "STATE", "ID"],
          rows.map(({ available, id, name, suspended }) => [
            name,
            available,
            suspended ? "suspended" : "active",
            id,
          ]),
        ),
      )
    }).pipe(Effect.provide(Database.existing)),
})

/** Makes the verb `suspend` or `resume`. */
const suspension = (act: "suspend" | "resume") =>
  Verb.make({
    examples: [`authority account ${act} acme`],
    declare: (command) => command.argument("<NAME>", "name or id of the account"),
    options: Schema.Struct({ name: StoredText, json: Verb.json }),
    run: ({ json, name: nameOrId }) =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const found = yield* accounts.find(nameOrId).pipe(refused(`account.${act}`, nameOrId))
        const { id, name, suspendedAt } = yield* accounts[act](found.id)
        const suspended = suspendedAt !== null
        yield* print(
          json,
          { account: { id, name }, suspended },
          suspended
            ? `Suspended the account ${name}. Within 5 seconds its keys get the status 403.`
            : `The account ${name} is active. Within 5 seconds its keys work.`,
        ).pipe(although(`the account is ${suspended ? "suspended" : "active"}`))
      }).pipe(Effect.provide(Database.existing)),
  })

export const verb = Verb.group({
  create: ["Create an account", create],
  list: ["List the accounts and their available credits", list],
  suspend: ["Refuse every request of an account with 403", suspension("suspend")],
  resume: ["End the suspension of an account", suspension("resume")],
})
