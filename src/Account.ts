/** Who is calling: the account that holds the credits, and what identifies it. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export const AccountId = Schema.String.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** The form of every id that we give an account. */
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * A name for people, unique, as an operator types it. A name in the form of an id is refused, for
 * the verbs take either.
 */
export const AccountName = Schema.String.pipe(
  Schema.pattern(/^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,99}$/u, {
    message: () => "expected 1 to 100 letters, digits, or . _ @ + -, with a letter or digit first",
  }),
  Schema.filter((name) => !idForm.test(name), {
    message: () => "expected a name that does not look like an account's id",
  }),
  Schema.brand("AccountName"),
)
export type AccountName = typeof AccountName.Type

export class Account extends Schema.Class<Account>("Account")({
  id: AccountId,
  /** An account from an earlier version may have a name that `AccountName` refuses. */
  name: Schema.String,
}) {}

/** The account that the request's key belongs to. */
export class CurrentAccount extends Context.Tag("authority/CurrentAccount")<
  CurrentAccount,
  AccountId
>() {}

export class AccountNotFound extends Data.TaggedError("AccountNotFound")<{
  readonly account: string
}> {
  override get message() {
    return `no account has the name or id "${this.account}"; 'authority account list' shows them`
  }
}

export class AccountExists extends Data.TaggedError("AccountExists")<{
  readonly name: string
}> {
  override get message() {
    return `an account named "${this.name}" exists already`
  }
}

/** The port to the accounts. */
export class Accounts extends Context.Tag("authority/Accounts")<
  Accounts,
  {
    /** Opens an account without credits; fails with AccountExists when the name is taken. */
    readonly create: (name: AccountName) => Effect.Effect<Account, AccountExists>
    /** By id or by name, the id first; fails with AccountNotFound. */
    readonly find: (nameOrId: string) => Effect.Effect<Account, AccountNotFound>
    /** Every account, by name. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
  }
>() {}
