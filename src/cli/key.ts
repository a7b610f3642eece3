import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Accounts } from "../Account.ts"
import * as ApiKey from "../ApiKey.ts"
import { ApiKeys } from "../ApiKeys.ts"
import { TimeSpan } from "../time/TimeSpan.ts"
import { accountOption, decoded, json } from "./options.ts"
import { print, table, time } from "./Output.ts"

const keyId = Args.text({ name: "KEY_ID" }).pipe(
  Args.withSchema(ApiKey.ApiKeyId),
  Args.withDescription("Id of the key, from `authority key list`"),
)

/** The key was issued, but it could not be printed. `message` says whether the key is revoked. */
class KeyNotShown extends Data.TaggedError("KeyNotShown")<{ readonly message: string }> {}

/**
 * Prints the new key. If printing fails, undoes the creation or rotation, because no user can know
 * the key.
 */
const show = (asJson: boolean, issued: ApiKey.IssuedKey, account: string) =>
  Effect.catchTag(printIssued(asJson, issued, account), "OutputFailed", ({ message }) =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { id } = issued.record
      const outcome = yield* Effect.exit(keys.undoIssue(issued))
      return yield* new KeyNotShown({
        message: Exit.isSuccess(outcome)
          ? `${message}; the new key ${id} was not shown and was revoked`
          : `${message}; the new key ${id} was not shown, so revoke it with 'authority key revoke ${id}'`,
      })
    }),
  )

const printIssued = (asJson: boolean, { key, record }: ApiKey.IssuedKey, account: string) => {
  const secret = Redacted.value(key)
  const expiresAt = time(record.expiresAt)
  return print(
    asJson,
    { key: secret, id: record.id, account, expiresAt },
    `${secret}\nThis key of ${account} is not shown again. It ${expiresAt === null ? "does not expire" : `expires at ${expiresAt}`}. Its id is ${record.id}.`,
  )
}

export const create = Command.make(
  "create",
  {
    account: accountOption,
    label: Options.text("label").pipe(
      Options.withPseudoName("TEXT"),
      Options.optional,
      Options.withDescription("Purpose of the key (default: none)"),
    ),
    expiresIn: Options.text("expires-in").pipe(
      Options.withPseudoName("TIME"),
      Options.mapEffect(decoded("--expires-in", TimeSpan)),
      Options.optional,
      Options.withDescription("Lifetime, such as 90d (default: unlimited)"),
    ),
    json,
  },
  ({ account, expiresIn, json, label }) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const { id, name } = yield* accounts.find(account)
      const issued = yield* keys.issue({
        account: id,
        label: Option.getOrUndefined(label),
        expiresIn: Option.getOrUndefined(expiresIn),
      })
      yield* show(json, issued, name)
    }),
).pipe(Command.withDescription("Create a key for an account, and show its secret once"))

export const list = Command.make("list", { account: accountOption, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const { id, name } = yield* accounts.find(account)
    const now = yield* Clock.currentTimeMillis
    const rows = (yield* keys.list(id)).map(
      Either.match({
        onLeft: ({ id, problem }) => ({ ...unreadable, id, problem }),
        onRight: (key) => ({
          id: key.id,
          start: key.start,
          label: key.label,
          state: stateOf(key, now),
          createdAt: time(key.createdAt),
          expiresAt: time(key.expiresAt),
          revokedAt: time(key.revokedAt),
          lastUsedAt: time(key.lastUsedAt),
        }),
      }),
    )
    yield* print(
      json,
      { account: name, keys: rows },
      table(
        ["KEY", "STATE", "LABEL", "CREATED", "EXPIRES", "LAST USED", "ID"],
        rows.map((row) =>
          row.state === "unreadable"
            ? ["", row.state, row.problem, "", "", "", row.id]
            : [
                `${row.start}…`,
                row.state,
                row.label ?? "",
                row.createdAt ?? "",
                row.expiresAt ?? "never",
                row.lastUsedAt ?? "never",
                row.id,
              ],
        ),
      ),
    )
  }),
).pipe(Command.withDescription("List the keys of an account, without their secrets"))

/** The fields of a key whose record cannot be read. The caller adds the id and the problem. */
const unreadable = {
  start: null,
  label: null,
  state: "unreadable",
  createdAt: null,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
} as const

const stateOf = (key: ApiKey.ApiKey, now: number): "revoked" | "active" | "expired" =>
  key.revokedAt !== null ? "revoked" : ApiKey.isUsable(key, now) ? "active" : "expired"

export const rotate = Command.make(
  "rotate",
  {
    id: keyId,
    grace: Options.text("grace").pipe(
      Options.withPseudoName("TIME"),
      Options.mapEffect(decoded("--grace", TimeSpan)),
      Options.withDefault(Duration.zero),
      Options.withDescription("How long the old key stays valid, such as 24h (default: 0s)"),
    ),
    json,
  },
  ({ grace, id, json }) =>
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
    }),
).pipe(Command.withDescription("Replace a key with a new key"))

export const revoke = Command.make("revoke", { id: keyId, json }, ({ id, json }) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { revokedAt } = yield* keys.revoke(id)
    yield* print(json, { id, revokedAt: time(revokedAt) }, `Revoked the key ${id}.`)
  }),
).pipe(Command.withDescription("Revoke a key now"))
