/** The records of all API keys in memory, which the stores of accounts and keys share. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { ApiKey, KeyHash } from "../ApiKey.ts"

export class KeyRecords extends Context.Tag("authority/memory/KeyRecords")<
  KeyRecords,
  Map<KeyHash, ApiKey>
>() {}

export const layer = Layer.sync(KeyRecords, () => new Map())
