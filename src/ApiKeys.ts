/** The port to the keys. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import type { AccountId } from "./Account.ts"
import type { ApiKey, ApiKeyId, IssuedKey, UnreadableKey } from "./ApiKey.ts"
import type { StoreTimeout } from "./StoreTimeout.ts"

/** Absent, malformed, unknown, revoked or expired: to a client they are one and the same. */
export class InvalidApiKey extends Data.TaggedError("InvalidApiKey") {
  override get message() {
    return "The API key is invalid or expired."
  }
}

export class ApiKeyNotFound extends Data.TaggedError("ApiKeyNotFound")<{
  readonly id: string
}> {
  override get message() {
    return `no usable key has the id "${this.id}"; 'authority key list --account NAME' shows them`
  }
}

export class ApiKeys extends Context.Tag("authority/ApiKeys")<
  ApiKeys,
  {
    /**
     * What is known of a key that may be used now. Fails with InvalidApiKey, or with StoreTimeout when
     * the store did not answer by the Deadline.
     */
    readonly authenticate: (
      key: Redacted.Redacted<string>,
    ) => Effect.Effect<ApiKey, InvalidApiKey | StoreTimeout>
    /** A new key for an account; without `expiresIn` it lives until it is revoked. */
    readonly issue: (options: {
      readonly account: AccountId
      readonly label?: string | undefined
      readonly expiresIn?: Duration.Duration | undefined
    }) => Effect.Effect<IssuedKey>
    /**
     * A new key with the same account, label and lifetime; the former one ends after `grace`.
     * Fails with ApiKeyNotFound when there is no such key, or it has ended already.
     */
    readonly rotate: (
      id: ApiKeyId,
      grace: Duration.Duration,
    ) => Effect.Effect<IssuedKey, ApiKeyNotFound>
    /**
     * Takes back a key that nobody has seen. The new key ends now, and a former key that its rotation
     * ended lives on as before.
     */
    readonly withdraw: (issued: IssuedKey) => Effect.Effect<void>
    /** Ends a key now; ending it again is no error. Fails with ApiKeyNotFound. */
    readonly revoke: (id: ApiKeyId) => Effect.Effect<RevokedKey, ApiKeyNotFound>
    /** An account's keys, ended ones included, oldest first. */
    readonly list: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<Either.Either<ApiKey, UnreadableKey>>>
    /** The keys of all accounts whose records cannot be read. */
    readonly unreadable: Effect.Effect<ReadonlyArray<UnreadableKey>>
  }
>() {}

/** Times are epoch milliseconds. */
export interface RevokedKey {
  readonly id: ApiKeyId
  readonly revokedAt: number
}
