/**
 * An account is a customer of the service: it has API keys and credits. `Accounts` is the port
 * (interface) to the store of accounts.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export const AccountId = Schema.String.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * An account's unique name, for people. It must not look like an id, because commands accept
 * either.
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
  /**
   * A plain string, because accounts of earlier versions may have names that are no longer allowed.
   */
  name: Schema.String,
  /** When the account was suspended, in epoch milliseconds; null when it is not suspended. */
  suspendedAt: Schema.NullOr(Schema.Int).pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault(() => null),
  ),
}) {}

/** An operator's search for accounts or keys, whose results come in pages, newest first. */
export interface Search {
  /**
   * A part of an account's name or of a key's label, or the start of a key. ASCII letters match in
   * either case, except in keys. Everything matches when absent.
   */
  readonly text?: string | undefined
  readonly limit: number
  /** The id of the last row of the previous page. */
  readonly before?: string | undefined
}

export class AccountNotFound extends Data.TaggedError("AccountNotFound")<{
  readonly account: string
}> {
  override get message() {
    return `no account has the name or id "${this.account}"; see 'authority account list'`
  }
}

export class AccountExists extends Data.TaggedError("AccountExists")<{
  readonly name: string
}> {
  override get message() {
    return `an account named "${this.name}" exists already; choose another name, or create a key for it with 'authority key create --account ${this.name}'`
  }
}

/** The port (interface) to the store of accounts. Every method may die with StoreFailure. */
export class Accounts extends Context.Tag("authority/Accounts")<
  Accounts,
  {
    /** Creates an account without credits. Fails with AccountExists when the name is taken. */
    readonly create: (name: AccountName) => Effect.Effect<Account, AccountExists>
    /** Finds the account with this id, or else the one with this name. */
    readonly find: (nameOrId: string) => Effect.Effect<Account, AccountNotFound>
    /** All accounts, sorted by name. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
    /** Finds accounts by their names, and by the labels and starts of their keys. */
    readonly search: (search: Search) => Effect.Effect<ReadonlyArray<Account>>
    /**
     * Suspends an account, so that none of its keys is admitted. Changes nothing when it is already
     * suspended. Fails with AccountNotFound.
     */
    readonly suspend: (id: AccountId) => Effect.Effect<Account, AccountNotFound>
    /** Ends the suspension, if there is one. Fails with AccountNotFound. */
    readonly resume: (id: AccountId) => Effect.Effect<Account, AccountNotFound>
  }
>() {}
