/** Pure rules for a batch of URLs that an account submits. */
import * as Arr from "effect/Array"
import type * as Either from "effect/Either"
import type { AccountId } from "../accounts/Account.ts"
import type { ApiKeyId } from "../accounts/ApiKey.ts"
import type { Credits } from "../ledger/Credits.ts"
import type { RequestId } from "./RequestId.ts"
import { type InvalidUrl, Target } from "./Target.ts"

/** A list of URLs, each parsed to a target or to the reason why it is invalid. */
export interface UrlList {
  readonly urls: ReadonlyArray<string>
  readonly parsed: ReadonlyArray<Either.Either<Target, InvalidUrl>>
  readonly targets: ReadonlyArray<Target>
}

export interface Batch extends UrlList {
  readonly accountId: AccountId
  readonly requestId: RequestId
  /** The API key of the request, whose budget must cover the batch. */
  readonly apiKeyId?: ApiKeyId | undefined
  readonly idempotencyKey?: string | undefined
  /** The most credits that the client lets the batch cost; absent when it sets no limit. */
  readonly limit?: Credits | undefined
  /** The maximum age of cached figures, in milliseconds; absent when the client sets none. */
  readonly maxAgeMs?: number | undefined
  /** True when the client asks where each figure comes from. */
  readonly wantsSources?: boolean | undefined
}

export const parse = (urls: ReadonlyArray<string>): UrlList => {
  const parsed = urls.map((url) => Target.parse(url))
  return { urls, parsed, targets: Arr.getRights(parsed) }
}
