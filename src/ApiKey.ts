/** The secret that a client sends, and what is kept of it. */
import { createHash, randomBytes } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { v7 as uuid } from "uuid"
import { AccountId } from "./Account.ts"
import { latestTime } from "./TimeSpan.ts"

export const ApiKeyId = Schema.String.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

/** SHA-256 of the whole key, in hexadecimal: all that a store ever sees of it. */
export const KeyHash = Schema.String.pipe(Schema.brand("KeyHash"))
export type KeyHash = typeof KeyHash.Type

/** What an operator may see of a key. Times are epoch milliseconds. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  accountId: AccountId,
  label: Schema.NullOr(Schema.String),
  /** The first characters of the key, for people to recognise it. */
  start: Schema.String,
  createdAt: Schema.Int,
  /** Null for a key that lives until it is revoked. */
  expiresAt: Schema.NullOr(Schema.Int),
  /** What it was issued for, in milliseconds; a rotation ends a key sooner. Null is for ever. */
  lifetimeMs: Schema.NullOr(Schema.Int),
  revokedAt: Schema.NullOr(Schema.Int),
  lastUsedAt: Schema.NullOr(Schema.Int),
})
export type ApiKey = typeof ApiKey.Type

/** A key whose record cannot be read. It lets nobody in, and it can be revoked. */
export interface UnreadableKey {
  readonly id: ApiKeyId
  readonly problem: string
}

/** Neither revoked nor expired at `now`, in epoch milliseconds. */
export const isUsable = (key: ApiKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt)

/** A time that can be shown. A later one is a defect, so it is never stored. */
const Expiry = Schema.Int.pipe(Schema.lessThanOrEqualTo(latestTime))

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const prefix = "am_"
const secretBytes = 32
/** 62^43 is the first power above 2^256. */
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

/** A new key: `am_`, 256 random bits in base62, and six characters that betray a typo. */
const generate = (): Redacted.Redacted<string> => {
  const body = prefix + base62(randomBytes(secretBytes), secretLength)
  return Redacted.make(body + checksum(body))
}

/** A key at the only moment when its secret is known. */
export interface IssuedKey {
  readonly key: Redacted.Redacted<string>
  readonly record: ApiKey
  /** The key that this one replaces, and when the rotation ends it; absent without a rotation. */
  readonly replaces?: { readonly former: ApiKey; readonly endsAt: number }
}

/** What a key is issued for; a rotated key's successor is issued for the same. */
export type Terms = Pick<ApiKey, "accountId" | "label" | "lifetimeMs">

/** A new key and its record, in force from `now`. */
export const issue = ({ accountId, label, lifetimeMs }: Terms, now: number): IssuedKey => {
  const key = generate()
  const record: ApiKey = {
    id: ApiKeyId.make(uuid()),
    accountId,
    label,
    start: start(key),
    createdAt: now,
    expiresAt: lifetimeMs === null ? null : Expiry.make(now + lifetimeMs),
    lifetimeMs,
    revokedAt: null,
    lastUsedAt: null,
  }
  return { key, record }
}

/** The successor of a key rotated at `now`. The former key ends after the grace at most. */
export const rotate = (former: ApiKey, now: number, graceMs: number): Required<IssuedKey> => {
  const endsAt = Math.min(now + graceMs, former.expiresAt ?? Number.POSITIVE_INFINITY)
  return { ...issue(former, now), replaces: { former, endsAt: Expiry.make(endsAt) } }
}

/** The terms as a caller gives them. */
export const terms = (options: {
  readonly account: AccountId
  readonly label?: string | undefined
  readonly expiresIn?: Duration.Duration | undefined
}): Terms => ({
  accountId: options.account,
  label: options.label ?? null,
  lifetimeMs: options.expiresIn === undefined ? null : Duration.toMillis(options.expiresIn),
})

/** False for what cannot be one of our keys, so that a typo costs no query. */
export const isWellFormed = (key: Redacted.Redacted<string>): boolean => {
  const text = Redacted.value(key)
  return (
    shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
  )
}

export const hash = (key: Redacted.Redacted<string>): KeyHash =>
  KeyHash.make(sha256(Redacted.value(key)).toString("hex"))

/** As much of a key as may be shown: `am_` and six characters. */
const start = (key: Redacted.Redacted<string>): string =>
  Redacted.value(key).slice(0, prefix.length + 6)
