import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { OutputFailed } from "../bulk/OutputFailed.ts"
import { TimeSpan } from "../time/TimeSpan.ts"
import * as Database from "./Database.ts"
import { print, table, time } from "./Output.ts"
import * as Verb from "./Verb.ts"

const idArgument = ["<ID>", "id of the key, from 'authority key list'"] as const

const show = (asJson: boolean, { key, record }: ApiKey.IssuedKey, account: string) => {
  const secret = Redacted.value(key)
  const expiresAt = time(record.expiresAt)
  return print(
    asJson,
    { key: secret, id: record.id, account, expiresAt },
    `${secret}\nThis key of ${account} is not shown again. It ${expiresAt === null ? "does not expire" : `expires at ${expiresAt}`}. Its id is ${record.id}.`,
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
      .option("--expires-in <TIME>", "lifetime, such as 90d (default: unlimited)"),
  options: Schema.Struct({
    account: Schema.String,
    label: Schema.optional(Schema.String),
    expiresIn: Schema.optional(TimeSpan),
    json: Verb.json,
  }),
  run: ({ account, expiresIn, json, label }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account)
      const issued = yield* keys.issue({ account: id, label, expiresIn })
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
        state: stateOf(key, now),
        createdAt: time(key.createdAt),
        expiresAt: time(key.expiresAt),
        revokedAt: time(key.revokedAt),
        lastUsedAt: time(key.lastUsedAt),
      }))
      yield* print(
        json,
        { account: name, keys: rows },
        table(
          ["KEY", "STATE", "LABEL", "CREATED", "EXPIRES", "LAST USED", "ID"],
          rows.map((row) => [
            `${row.start}…`,
            row.state,
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

const stateOf = (key: ApiKey.ApiKey, now: number): "revoked" | "active" | "expired" =>
  key.revokedAt !== null ? "revoked" : ApiKey.isUsable(key, now) ? "active" : "expired"

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
      const issued = yield* keys.rotate(id, grace)
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
      const { revokedAt } = yield* keys.revoke(id)
      yield* print(json, { id, revokedAt: time(revokedAt) }, `Revoked the key ${id}.`)
    }).pipe(Effect.provide(Database.existing)),
})

export const verb = Verb.group({
  create: ["Create a key for an account, and show its secret once", create],
  list: ["List the keys of an account, without their secrets", list],
  rotate: ["Replace a key with a new key", rotate],
  revoke: ["Revoke a key now", revoke],
})
