/** API keys: the secret that a client sends, and the record that a store keeps. */
import { createHash, randomBytes } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { AccountId } from "./Account.ts"
import { Budget, type Spent } from "../ledger/budgets/Budget.ts"
import * as Scope from "./Scope.ts"
import { isoTime, latestTime } from "./TimeSpan.ts"

export const ApiKeyId = Schema.String.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

/** SHA-256 of the whole key, in hexadecimal. Stores save this hash, but never the key. */
export const KeyHash = Schema.String.pipe(Schema.brand("KeyHash"))
export type KeyHash = typeof KeyHash.Type

export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  accountId: AccountId,
  label: Schema.NullOr(Schema.String),
  /** The first characters of the key, by which people recognize it. */
  start: Schema.String,
  createdAt: Schema.Int,
  /** When the key expires; null for a key that does not expire. */
  expiresAt: Schema.NullOr(Schema.Int),
  /**
   * The key's lifetime in milliseconds, counted from its creation; null for a key that does not
   * expire. A key that is rotated may end earlier.
   */
  lifetimeMs: Schema.NullOr(Schema.Int),
  /** A record without scopes was written by an earlier version, whose keys had all scopes. */
  scopes: Schema.optionalWith(Scope.Scopes, { default: () => Scope.all }),
  revokedAt: Schema.NullOr(Schema.Int),
  lastUsedAt: Schema.NullOr(Schema.Int),
  /** The key's budget; null or absent when it has none. */
  budget: Schema.optionalWith(Schema.NullOr(Budget), { exact: true }),
})
export type ApiKey = typeof ApiKey.Type

/** A key whose stored record is damaged. It cannot be used, but it can be revoked. */
export interface UnreadableKey {
  readonly id: ApiKeyId
  readonly problem: string
}

/** True when the key is neither revoked nor expired at `now`, in epoch milliseconds. */
export const isUsable = (key: ApiKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt)

export const stateOf = (key: ApiKey, now: number): "active" | "expired" | "revoked" =>
  key.revokedAt !== null ? "revoked" : isUsable(key, now) ? "active" : "expired"

/** The budget of a key as answers show it. */
export const budgetDocument = (spent: Spent) => ({ ...spent, resetsAt: isoTime(spent.resetsAt) })

/** A key with the current use of its budget, as lists of keys show it. */
export const documentOf = (key: ApiKey, spent: Spent | undefined, now: number) => ({
  id: key.id,
  start: key.start,
  label: key.label,
  state: stateOf(key, now),
  scopes: key.scopes,
  budget: spent === undefined ? null : budgetDocument(spent),
  createdAt: isoTime(key.createdAt),
  expiresAt: isoTime(key.expiresAt),
  revokedAt: isoTime(key.revokedAt),
  lastUsedAt: isoTime(key.lastUsedAt),
})

/** A time that a `Date` can hold. `Expiry.make` throws for a later time. */
const Expiry = Schema.Int.pipe(Schema.lessThanOrEqualTo(latestTime))

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const prefix = "am_"
const secretBytes = 32
const secretLength = 43
const checksumLength = 6
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

const base62 = (bytes: Uint8Array, length: number): string => {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  let text = ""
  for (let i = 0; i < length; i++) {
    text = alphabet.charAt(Number(number % 62n)) + text
    number /= 62n
  }
  return text
}

const sha256 = (text: string) => createHash("sha256").update(text).digest()

const checksum = (body: string) => base62(sha256(body).subarray(0, 8), checksumLength)

/** Generates a key: `am_`, 256 random bits in base62, and a checksum of six characters. */
const generate = (): Redacted.Redacted<string> => {
  const body = prefix + base62(randomBytes(secretBytes), secretLength)
  return Redacted.make(body + checksum(body))
}

/** A new key. Only `key` contains the secret, which no store keeps. */
export interface IssuedKey {
  readonly key: Redacted.Redacted<string>
  readonly record: ApiKey
}

/** The properties that a rotated key passes on to the new key. */
export type Terms = Pick<ApiKey, "accountId" | "label" | "lifetimeMs" | "scopes" | "budget">

/**
 * Issues a key that is valid from `now` (epoch milliseconds). Throws when its expiry is too late
 * for a `Date`.
 */
export const issue = (
  { accountId, budget = null, label, lifetimeMs, scopes }: Terms,
  now: number,
): IssuedKey => {
  const key = generate()
  const record: ApiKey = {
    id: ApiKeyId.make(uuid()),
    accountId,
    label,
    start: start(key),
    createdAt: now,
    expiresAt: lifetimeMs === null ? null : Expiry.make(now + lifetimeMs),
    lifetimeMs,
    scopes,
    revokedAt: null,
    lastUsedAt: null,
    budget,
  }
  return { key, record }
}

/**
 * When a key that is rotated at `now` ends, in epoch milliseconds: after `graceMs`, or at its own
 * expiry if that is earlier. Throws when that time is too late for a `Date`.
 */
export const endAfterGrace = (key: ApiKey, now: number, graceMs: number): number =>
  Expiry.make(Math.min(now + graceMs, key.expiresAt ?? Number.POSITIVE_INFINITY))

/** What an operator chooses for a new key. */
export interface NewKey {
  readonly account: AccountId
  readonly label?: string | null | undefined
  /** The key's lifetime; undefined for a key that does not expire. */
  readonly expiresIn?: Duration.Duration | undefined
  readonly budget?: Budget | undefined
  /** The key's scopes; all of them when undefined. */
  readonly scopes?: ReadonlyArray<Scope.Scope> | undefined
}

export const terms = ({ account, expiresIn, scopes, ...given }: NewKey): Terms => ({
  accountId: account,
  label: given.label ?? null,
  lifetimeMs: expiresIn === undefined ? null : Duration.toMillis(expiresIn),
  budget: given.budget ?? null,
  scopes: Scope.all.filter((scope) => scopes?.includes(scope) ?? true),
})

/** Checks a key's format and checksum, so that a mistyped key is refused without a query. */
export const isWellFormed = (key: Redacted.Redacted<string>): boolean => {
  const text = Redacted.value(key)
  return (
    shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
  )
}

export const hash = (key: Redacted.Redacted<string>): KeyHash =>
  KeyHash.make(sha256(Redacted.value(key)).toString("hex"))

const start = (key: Redacted.Redacted<string>): string => Redacted.value(key).slice(0, startLength)

/** How many characters of a key its record keeps, for people to recognize it. */
const startLength = 9

/**
 * Returns the start of a key from the text of a search, shortening a whole key so that it finds its
 * record. Undefined unless the text begins with `am_` and another character.
 */
export const startOf = (text: string): string | undefined =>
  /^am_./.test(text) ? text.slice(0, startLength) : undefined
