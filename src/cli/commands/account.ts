import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { AccountName } from "../../accounts/Account.ts"
import * as AccountActs from "../../accounts/AccountActs.ts"
import { StoredText } from "../../contract/fields.ts"
import { counted } from "../../contract/counted.ts"
import * as Database from "../Database.ts"
import { table } from "../Output.ts"
import * as Command from "../Command.ts"

const create = Command.onDatabase({
  examples: ["authority account create acme --credits 1000"],
  declare: (command) =>
    command
      .argument("<NAME>", "name of the new account")
      .option("--credits <N>", "credits to grant to the new account", "0"),
  options: Schema.Struct({ name: AccountName, credits: Command.wholeNumber(0, " of credits") }),
  stores: Database.existingOrNew,
  act: AccountActs.create,
  text: ({ account: { id, name }, credits }) =>
    `Created the account ${name} with ${counted(credits, "credit")} (${id}).`,
  ifLost: () => ", although the account is created",
})

const list = Command.onDatabase({
  examples: ["authority account list"],
  options: Schema.Struct({}),
  act: () => AccountActs.list(),
  text: ({ accounts }) =>
    table(
      [
        ["NAME", null, ({ name }) => name],
        ["AVAILABLE", null, ({ available }) => available],
        ["STATE", null, ({ suspended }) => (suspended ? "suspended" : "active")],
        ["ID", null, ({ id }) => id],
      ],
      accounts,
    ),
})

const suspension = (act: typeof AccountActs.suspend, example: string) =>
  Command.onDatabase({
    examples: [example],
    declare: (command) => command.argument("<NAME>", "name or id of the account"),
    options: Schema.Struct({ name: StoredText }),
    act: ({ name }) =>
      Effect.map(act(name), ({ account }) => ({ account, suspended: account.suspended })),
    text: ({ account: { name, suspended } }) =>
      suspended
        ? `Suspended the account ${name}. Within 5 seconds its keys get the status 403.`
        : `The account ${name} is active. Within 5 seconds its keys work.`,
    ifLost: ({ account }) =>
      `, although the account is ${account.suspended ? "suspended" : "active"}`,
  })

export const command = Command.group({
  create: ["Create an account", create],
  list: ["List the accounts and their available credits", list],
  suspend: [
    "Refuse every request of an account with 403",
    suspension(AccountActs.suspend, "authority account suspend acme"),
  ],
  resume: [
    "End the suspension of an account",
    suspension(AccountActs.resume, "authority account resume acme"),
  ],
})
