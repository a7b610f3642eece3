/** The records of all API keys in memory, which the stores of accounts and keys share. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ApiKey, ApiKeyId, KeyHash } from "../ApiKey.ts"
import { ApiKeyNotFound } from "../ApiKeys.ts"

export class KeyRecords extends Context.Tag("authority/memory/KeyRecords")<
  KeyRecords,
  Map<KeyHash, ApiKey>
>() {}

export const layer = Layer.sync(KeyRecords, () => new Map())

/** Finds a key's hash and record by its id. */
export const find = (records: KeyRecords["Type"], id: ApiKeyId) =>
  Effect.suspend(() =>
    Effect.mapError(
      Effect.fromNullable([...records].find(([, record]) => record.id === id)),
      () => new ApiKeyNotFound({ id }),
    ),
  )
