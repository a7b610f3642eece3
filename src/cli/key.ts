import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { refused } from "../AuditLog.ts"
import { OutputFailed } from "../bulk/OutputFailed.ts"
import * as Scope from "../Scope.ts"
import { TimeSpan } from "../time/TimeSpan.ts"
import * as Database from "./Database.ts"
import { although, print, table, time } from "./Output.ts"
import * as Verb from "./Verb.ts"

const idArgument = ["<ID>", "id of the key, from 'authority key list'"] as const

const scopesOption = [
  "--scopes <SCOPES>",
  "what the key may be used for: check, read or both, separated by commas",
] as const

const show = (asJson: boolean, { key, record }: ApiKey.IssuedKey, account: string) => {
  const secret = Redacted.value(key)
  const { scopes } = record
  const expiresAt = time(record.expiresAt)
  const only = scopes.length === Scope.all.length ? "" : ` Its only scope is ${scopes.join(", ")}.`
  return print(
    asJson,
    { key: secret, id: record.id, account, expiresAt, scopes },
    `${secret}\nThis key of ${account} is not shown again.${only} It ${expiresAt === null ? "does not expire" : `expires at ${expiresAt}`}. Its id is ${record.id}.`,
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
  examples: ['authority key create --account acme --label "rank tracker" --expires-in 90d'],
  declare: (command) =>
    command
      .requiredOption(...Verb.account)
      .option("--label <TEXT>", "purpose of the key (default: none)")
      .option("--expires-in <TIME>", "lifetime, such as 90d (default: unlimited)")
      .option(scopesOption[0], `${scopesOption[1]} (default: both)`),
  options: Schema.Struct({
    account: Schema.String,
    label: Schema.optional(Schema.String),
    expiresIn: Schema.optional(TimeSpan),
    scopes: Schema.optional(Scope.Text),
    json: Verb.json,
  }),
  run: ({ account, expiresIn, json, label, scopes }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account).pipe(refused("key.create", account))
      const issued = yield* keys.issue({ account: id, label, expiresIn, scopes })
      yield* show(json, issued, name)
    }).pipe(Effect.provide(Database.existing)),
})

const list = Verb.make({
  examples: ["authority key list --account acme"],
  declare: (command) => command.requiredOption(...Verb.account),
  options: Schema.Struct({ account: Schema.String, json: Verb.json }),
  run: ({ account, json }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account)
      const now = yield* Clock.currentTimeMillis
      const rows = (yield* keys.list(id)).map((key) => ({
        id: key.id,
        start: key.start,
        label: key.label,
        state: ApiKey.stateOf(key, now),
        scopes: key.scopes,
        createdAt: time(key.createdAt),
        expiresAt: time(key.expiresAt),
        revokedAt: time(key.revokedAt),
        lastUsedAt: time(key.lastUsedAt),
      }))
      yield* print(
        json,
        { account: name, keys: rows },
        table(
          ["KEY", "STATE", "SCOPES", "LABEL", "CREATED", "EXPIRES", "LAST USED", "ID"],
          rows.map((row) => [
            `${row.start}…`,
            row.state,
            Scope.textOf(row.scopes),
            row.label ?? "",
            row.createdAt ?? "",
            row.expiresAt ?? "never",
            row.lastUsedAt ?? "never",
            row.id,
          ]),
        ),
      )
    }).pipe(Effect.provide(Database.existing)),
})

const update = Verb.make({
  examples: ["authority key update 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --scopes read"],
  declare: (command) =>
    command
      .argument(...idArgument)
      .option("--label <TEXT>", "new purpose of the key; an empty text removes it")
      .option(...scopesOption),
  options: Schema.Struct({
    id: ApiKey.ApiKeyId,
    label: Schema.optional(Schema.String),
    scopes: Schema.optional(Scope.Text),
    json: Verb.json,
  }).pipe(
    Schema.filter(({ label, scopes }) => label !== undefined || scopes !== undefined, {
      message: () => "nothing to change: add --label or --scopes",
    }),
  ),
  run: ({ id, json, label, scopes }) =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const key = yield* keys
        .update(id, {
          ...(label !== undefined && { label: label === "" ? null : label }),
          ...(scopes !== undefined && { scopes }),
        })
        .pipe(refused("key.update", id))
      const document = {
        id,
        label: key.label,
        scopes: key.scopes,
        expiresAt: time(key.expiresAt),
      }
      yield* print(
        json,
        document,
        `Changed the key ${key.start}… (${id}): label ${key.label ?? "none"}, scopes ${Scope.textOf(key.scopes)}. The service takes it over within 5 seconds.`,
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
      yield* print(json, { id, revokedAt: time(revokedAt) }, `Revoked the key ${id}.`)
    }).pipe(Effect.provide(Database.existing)),
})

export const verb = Verb.group({
  create: ["Create a key for an account, and show its secret once", create],
  list: ["List the keys of an account, without their secrets", list],
  update: ["Change the label or the scopes of a key", update],
  rotate: ["Replace a key with a new key", rotate],
  revoke: ["Revoke a key now", revoke],
})
