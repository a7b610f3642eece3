/** The port (interface) to the store of API keys. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { AccountId, Search } from "./Account.ts"
import type { ApiKey, ApiKeyId, IssuedKey, NewKey, UnreadableKey } from "./ApiKey.ts"
import type { Budget } from "../ledger/budgets/Budget.ts"
import type { Scope } from "./Scope.ts"
import type { StoreTimeout } from "../ledger/StoreTimeout.ts"

/** A key together with the state of the account that owns it. */
export interface AccountKey extends ApiKey {
  readonly accountName: string
  /** When the account was suspended, in epoch milliseconds; null when it is not suspended. */
  readonly accountSuspendedAt: number | null
}

/** The API key of the current request. */
export class CurrentKey extends Context.Tag("authority/CurrentKey")<CurrentKey, AccountKey>() {}

/** The key is absent, malformed, unknown, revoked or expired. The error does not reveal which. */
export class InvalidApiKey extends Data.TaggedError("InvalidApiKey") {
  override get message() {
    return "The API key is invalid or expired."
  }
}

/** No key has this id, or the key has expired or was revoked. */
export class ApiKeyNotFound extends Data.TaggedError("ApiKeyNotFound")<{
  readonly id: string
}> {
  override get message() {
    return `no usable key has the id "${this.id}"; see 'authority key list --account NAME'`
  }
}

/** A change of a key. Absent fields keep their values. */
export interface Change {
  /** The new label; null removes the label. */
  readonly label?: string | null | undefined
  readonly scopes?: ReadonlyArray<Scope> | undefined
  /** The new budget; null removes the budget. */
  readonly budget?: Budget | null | undefined
}

export interface KeySearch extends Search {
  /** The keys of all accounts when absent. */
  readonly account?: AccountId | undefined
}

/** Every method may die with StoreFailure. */
export class ApiKeys extends Context.Tag("authority/ApiKeys")<
  ApiKeys,
  {
    /**
     * Returns the record of a usable key, even when its account is suspended. Fails with
     * InvalidApiKey, or with StoreTimeout when the store does not answer by the Deadline.
     */
    readonly authenticate: (
      key: Redacted.Redacted<string>,
    ) => Effect.Effect<AccountKey, InvalidApiKey | StoreTimeout>
    readonly issue: (key: NewKey) => Effect.Effect<IssuedKey>
    /**
     * Issues a key with the same account, label, lifetime and scopes, and ends the old key after
     * `grace`. Both keys share the old key's budget and what is already used of it. Fails with
     * ApiKeyNotFound when the old key does not exist, has expired or was revoked.
     */
    readonly rotate: (
      id: ApiKeyId,
      grace: Duration.Duration,
    ) => Effect.Effect<IssuedKey, ApiKeyNotFound>
    /**
     * Changes a usable key and returns its record. A new budget applies from the next commit,
     * counts what the key has used since the start of the current period, and also applies to the
     * keys with which a rotation made it shared. Fails with ApiKeyNotFound when the key does not
     * exist, has expired or was revoked.
     */
    readonly update: (id: ApiKeyId, change: Change) => Effect.Effect<ApiKey, ApiKeyNotFound>
    /**
     * Revokes a key now. Changes nothing when it is already revoked. Fails with ApiKeyNotFound when
     * no key has this id.
     */
    readonly revoke: (id: ApiKeyId) => Effect.Effect<RevokedKey, ApiKeyNotFound>
    /**
     * Returns the record of a key, even if it expired or was revoked. Fails with ApiKeyNotFound.
     */
    readonly find: (id: ApiKeyId) => Effect.Effect<ApiKey, ApiKeyNotFound>
    /** Lists all keys of an account, oldest first, including revoked and expired ones. */
    readonly list: (account: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Finds keys of one account or of all accounts, including revoked and expired ones. */
    readonly search: (search: KeySearch) => Effect.Effect<ReadonlyArray<AccountKey>>
    /** Lists the damaged key records of all accounts, on which every other method dies. */
    readonly unreadable: Effect.Effect<ReadonlyArray<UnreadableKey>>
  }
>() {}

export interface RevokedKey {
  readonly id: ApiKeyId
  readonly revokedAt: number
}
