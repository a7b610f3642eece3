import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ApiKey from "../../accounts/ApiKey.ts"
import * as KeyActs from "../../accounts/KeyActs.ts"
import * as Budget from "../../ledger/budgets/Budget.ts"
import * as Scope from "../../accounts/Scope.ts"
import { ShortTextOrNull, StoredText } from "../../contract/fields.ts"
import { printable } from "../../check/printable.ts"
import { Lifetime, TimeSpan } from "../../accounts/TimeSpan.ts"
import { table } from "../Output.ts"
import * as Command from "../Command.ts"

const idArgument = ["<ID>", "id of the key, from 'authority key list'"] as const

const scopesOption = [
  "--scopes <SCOPES>",
  "what the key may be used for: check, read or both, separated by commas",
] as const

const budgetOption = "--budget <BUDGET>"

/** A budget, or null for the text `none`. */
const BudgetOrNone = Schema.Union(
  Schema.transform(Schema.Literal("none"), Schema.Null, {
    strict: true,
    decode: () => null,
    encode: () => "none" as const,
  }),
  Budget.Budget,
).annotations({ message: () => ({ message: Budget.expected, override: true }) })

type NewKey = Effect.Effect.Success<ReturnType<typeof KeyActs.create>>

const issued = {
  text: ({ account, budget, expiresAt, id, key, scopes }: NewKey) => {
    const most = budget === null ? "" : ` Its budget is ${budget}.`
    const only =
      scopes.length === Scope.all.length ? "" : ` Its only scope is ${scopes.join(", ")}.`
    const end = expiresAt === null ? "does not expire" : `expires at ${expiresAt}`
    return `${key}\nThis key of ${account} is not shown again.${only}${most} It ${end}. Its id is ${id}.`
  },
  ifLost: ({ id }: NewKey) =>
    `; the key was not shown; revoke it with 'authority key revoke ${id}'`,
}

const create = Command.onDatabase({
  examples: [
    'authority key create --account acme --label "rank tracker" --expires-in 90d',
    "authority key create --account acme --label interns --budget 500/day",
  ],
  declare: (command) =>
    command
      .requiredOption(...Command.account)
      .option("--label <TEXT>", "purpose of the key (default: none)")
      .option("--expires-in <TIME>", "lifetime, such as 90d (default: unlimited)")
      .option(budgetOption, "most credits in a period, such as 500/day (default: unlimited)")
      .option(scopesOption[0], `${scopesOption[1]} (default: both)`),
  options: Schema.Struct({
    account: StoredText,
    label: Schema.optional(ShortTextOrNull),
    expiresIn: Schema.optional(Lifetime),
    budget: Schema.optional(Budget.Budget),
    scopes: Schema.optional(Scope.Text),
  }),
  act: KeyActs.create,
  ...issued,
})

const list = Command.onDatabase({
  examples: ["authority key list --account acme"],
  declare: (command) => command.requiredOption(...Command.account),
  options: Schema.Struct({ account: StoredText }),
  act: ({ account }) => KeyActs.list(account),
  text: ({ keys }) =>
    table(
      [
        ["KEY", null, ({ start }) => `${start}…`],
        ["STATE", null, ({ state }) => state],
        ["SCOPES", null, ({ scopes }) => Scope.textOf(scopes)],
        [
          "USED OF BUDGET",
          null,
          ({ budget }) => budget && `${budget.used} of ${Budget.textOf(budget)}`,
        ],
        ["LABEL", null, ({ label }) => label],
        ["CREATED", null, ({ createdAt }) => createdAt],
        ["EXPIRES", null, ({ expiresAt }) => expiresAt ?? "never"],
        ["LAST USED", null, ({ lastUsedAt }) => lastUsedAt ?? "never"],
        ["ID", null, ({ id }) => id],
      ],
      keys,
    ),
})

const update = Command.onDatabase({
  examples: [
    "authority key update 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --scopes read",
    "authority key update 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --budget 2000/month",
  ],
  declare: (command) =>
    command
      .argument(...idArgument)
      .option("--label <TEXT>", "new purpose of the key; an empty text removes it")
      .option(budgetOption, "new budget, such as 500/day, 500/month or 500/total; none removes it")
      .option(...scopesOption),
  options: Schema.Struct({
    id: ApiKey.ApiKeyId,
    label: Schema.optional(ShortTextOrNull),
    budget: Schema.optional(BudgetOrNone),
    scopes: Schema.optional(Scope.Text),
  }).pipe(
    Schema.filter(
      ({ budget, label, scopes }) =>
        budget !== undefined || label !== undefined || scopes !== undefined,
      { message: () => "nothing to change: add --label, --budget or --scopes" },
    ),
  ),
  act: ({ id, ...change }) =>
    Effect.map(KeyActs.update(id, change), ({ key }) => {
      const { budget, expiresAt, label, scopes } = key
      // Version 1.1.0 printed the same fields beside `key`.
      return { key, id, label, budget: budget && Budget.textOf(budget), scopes, expiresAt }
    }),
  text: ({ key: { budget, id, label, scopes, start } }) =>
    `Changed the key ${start}… (${id}): label ${printable(label ?? "none")}, budget ${budget === null ? "none" : Budget.textOf(budget)}, scopes ${Scope.textOf(scopes)}. A budget counts at once, and the service takes over the scopes within 5 seconds.`,
  ifLost: () => ", although the key is changed",
})

const rotate = Command.onDatabase({
  examples: ["authority key rotate 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --grace 24h"],
  declare: (command) =>
    command
      .argument(...idArgument)
      .option("--grace <TIME>", "how long the old key stays valid, such as 24h", "0s"),
  options: Schema.Struct({ id: ApiKey.ApiKeyId, grace: TimeSpan }),
  act: KeyActs.rotate,
  ...issued,
})

const revoke = Command.onDatabase({
  examples: ["authority key revoke 018f3c1e-7b5a-7c3d-9e2f-0123456789ab"],
  declare: (command) => command.argument(...idArgument),
  options: Schema.Struct({ id: ApiKey.ApiKeyId }),
  act: ({ id }) => KeyActs.revoke(id),
  text: ({ id }) => `Revoked the key ${id}.`,
})

export const command = Command.group({
  create: ["Create a key for an account, and show its secret once", create],
  list: ["List the keys of an account, without their secrets", list],
  update: ["Change the label, the budget or the scopes of a key", update],
  rotate: ["Replace a key with a new key", rotate],
  revoke: ["Revoke a key now", revoke],
})
