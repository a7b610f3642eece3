import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { refused } from "../AuditLog.ts"
import { OutputFailed } from "../bulk/OutputFailed.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import * as Budget from "../ledger/Budget.ts"
import * as Scope from "../Scope.ts"
import { ShortTextOrNull, StoredText } from "../ShortText.ts"
import { printable } from "../text/printable.ts"
import { Lifetime, TimeSpan } from "../time/TimeSpan.ts"
import * as Database from "./Database.ts"
import { isoTime } from "../time/isoTime.ts"
import { although, print, table } from "./Output.ts"
import * as Verb from "./Verb.ts"

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

/** The budget as text; null for a key without one. */
const budgetOf = ({ budget }: ApiKey.ApiKey) => (budget == null ? null : Budget.textOf(budget))

const show = (asJson: boolean, { key, record }: ApiKey.IssuedKey, account: string) => {
  const secret = Redacted.value(key)
  const { scopes } = record
  const expiresAt = isoTime(record.expiresAt)
  const budget = budgetOf(record)
  const most = budget === null ? "" : ` Its budget is ${budget}.`
  const only = scopes.length === Scope.all.length ? "" : ` Its only scope is ${scopes.join(", ")}.`
  return print(
    asJson,
    { key: secret, id: record.id, account, expiresAt, budget, scopes },
    `${secret}\nThis key of ${account} is not shown again.${only}${most} It ${expiresAt === null ? "does not expire" : `expires at ${expiresAt}`}. Its id is ${record.id}.`,
  ).pipe(
    Effect.mapError(
      ({ message }) =>
        new OutputFailed({
          message: `${message}; the key was not shown; revoke it with 'authority key revoke ${record.id}'`,
        }),
    ),
  )
}

const create = Verb.make({
  examples: [
    'authority key create --account acme --label "rank tracker" --expires-in 90d',
    "authority key create --account acme --label interns --budget 500/day",
  ],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
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
    json: Verb.json,
  }),
  run: ({ account, budget, expiresIn, json, label, scopes }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account).pipe(refused("key.create", account))
      const issued = yield* keys.issue({ account: id, label, expiresIn, budget, scopes })
      yield* show(json, issued, name)
    }).pipe(Effect.provide(Database.existing)),
})

const list = Verb.make({
  examples: ["authority key list --account acme"],
  declare: (command) => command.requiredOption(...Verb.account),
  options: Schema.Struct({ account: StoredText, json: Verb.json }),
  run: ({ account, json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account)
      const now = yield* Clock.currentTimeMillis
      const found = yield* keys.list(id)
      const { budgets = () => Effect.succeed(new Map<ApiKey.ApiKeyId, Budget.Spent>()) } =
        yield* CreditLedger
      const uses = yield* budgets(found.map((key) => key.id))
      const rows = found.map((key) => ApiKey.documentOf(key, uses.get(key.id), now))
      yield* print(
        json,
        { account: name, keys: rows },
        table(
          [
            "KEY",
            "STATE",
            "SCOPES",
            "USED OF BUDGET",
            "LABEL",
            "CREATED",
            "EXPIRES",
            "LAST USED",
            "ID",
          ],
          rows.map((row) => [
            `${row.start}…`,
            row.state,
            Scope.textOf(row.scopes),
            row.budget === null ? "" : `${row.budget.used} of ${Budget.textOf(row.budget)}`,
            row.label ?? "",
            row.createdAt,
            row.expiresAt ?? "never",
            row.lastUsedAt ?? "never",
            row.id,
          ]),
        ),
      )
    }).pipe(Effect.provide(Database.existing)),
})

const update = Verb.make({
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
    json: Verb.json,
  }).pipe(
    Schema.filter(
      ({ budget, label, scopes }) =>
        budget !== undefined || label !== undefined || scopes !== undefined,
      { message: () => "nothing to change: add --label, --budget or --scopes" },
    ),
  ),
  run: ({ budget, id, json, label, scopes }) =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const key = yield* keys
        .update(id, {
          ...(label !== undefined && { label }),
          budget,
          ...(scopes !== undefined && { scopes }),
        })
        .pipe(refused("key.update", id))
      const document = {
        id,
        label: key.label,
        budget: budgetOf(key),
        scopes: key.scopes,
        expiresAt: isoTime(key.expiresAt),
      }
      yield* print(
        json,
        document,
        `Changed the key ${key.start}… (${id}): label ${printable(key.label ?? "none")}, budget ${document.budget ?? "none"}, scopes ${Scope.textOf(key.scopes)}. A budget counts at once, and the service takes over the scopes within 5 seconds.`,
      ).pipe(although("the key is changed"))
    }).pipe(Effect.provide(Database.existing)),
})

const rotate = Verb.make({
  examples: ["authority key rotate 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --grace 24h"],
  declare: (command) =>
    command
      .argument(...idArgument)
      .option("--grace <TIME>", "how long the old key stays valid, such as 24h", "0s"),
  options: Schema.Struct({ id: ApiKey.ApiKeyId, grace: TimeSpan, json: Verb.json }),
  run: ({ grace, id, json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const issued = yield* keys.rotate(id, grace).pipe(refused("key.rotate", id))
      const { accountId } = issued.record
      const name = yield* accounts.find(accountId).pipe(
        Effect.map((account) => account.name),
        // The key is already issued, so it is shown even when the account's name is not found.
        Effect.catchAllCause(() => Effect.succeed(accountId)),
      )
      yield* show(json, issued, name)
    }).pipe(Effect.provide(Database.existing)),
})

const revoke = Verb.make({
  examples: ["authority key revoke 018f3c1e-7b5a-7c3d-9e2f-0123456789ab"],
  declare: (command) => command.argument(...idArgument),
  options: Schema.Struct({ id: ApiKey.ApiKeyId, json: Verb.json }),
  run: ({ id, json }) =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { revokedAt } = yield* keys.revoke(id).pipe(refused("key.revoke", id))
      yield* print(json, { id, revokedAt: isoTime(revokedAt) }, `Revoked the key ${id}.`)
    }).pipe(Effect.provide(Database.existing)),
})

export const verb = Verb.group({
  create: ["Create a key for an account, and show its secret once", create],
  list: ["List the keys of an account, without their secrets", list],
  update: ["Change the label, the budget or the scopes of a key", update],
  rotate: ["Replace a key with a new key", rotate],
  revoke: ["Revoke a key now", revoke],
})
