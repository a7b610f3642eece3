/**
 * The contract as plain types and texts. This module imports nothing, so that clients can use it
 * without the schemas. A test checks that the types match the schemas of `Api` and `Envelope`.
 */

export const batchPath = "/v1/metrics/da-pa/batch"
export const previewPath = "/v1/metrics/da-pa/preview"
/** Every path of the administration starts with this prefix. */
export const adminPrefix = "/admin/"
export const adminPaths = {
  accounts: "/admin/v1/accounts",
  keys: "/admin/v1/keys",
  history: "/admin/v1/history",
  usage: "/admin/v1/usage",
  audit: "/admin/v1/audit",
  providerStatus: "/admin/v1/provider/status",
  providerReport: "/admin/v1/provider/report",
  overview: "/admin/v1/overview",
  openApi: "/admin/openapi.json",
} as const
export const historyPath = "/v1/metrics/da-pa/history"
export const creditsPath = "/v1/quota/available-credits"
export const keyPath = "/v1/key"
export const usagePath = "/v1/usage"
export const statementPath = "/v1/statement"

/** The figures of one URL, each from 0 to 100. */
export interface Success {
  readonly url: string
  readonly domainAuthority: number
  readonly pageAuthority: number
  /** Absent when the provider has no spam score for the domain. */
  readonly spamScore?: number
  /** Present only when the request asked for it. */
  readonly provenance?: Provenance
}

export interface Provenance {
  readonly provider: string
  /** `known` and `stale` figures were bought for an earlier request. */
  readonly source: "bought" | "known" | "stale"
  /** When the provider gave the figures, as an ISO 8601 time. */
  readonly fetchedAt: string
  readonly ageSeconds: number
  /** The provider's name or date for its index; null when it names none. */
  readonly index: string | null
  /** The domain that these figures belong to, if it is not the URL's own. */
  readonly of?: string
}

/** A URL without figures, and the reason. */
export interface Failure {
  readonly url: string
  readonly reason: "PROVIDER_ERROR" | "SERVER_ERROR" | "INVALID_URL"
  /** Like `detail`, present only when the request asked for the provenance. */
  readonly cause?: "invalid" | "unknown" | "failed" | "timeout" | "exhausted" | "internal"
  readonly detail?: string
}

interface Answer<Data> {
  readonly success: true
  readonly data: Data
}

export interface BatchAnswer extends Answer<{
  readonly successUrls: ReadonlyArray<Success>
  readonly failedUrls: ReadonlyArray<Failure>
}> {
  readonly quota: { readonly creditsUsed: number }
}

export type PreviewEntry =
  | {
      readonly url: string
      readonly valid: true
      readonly target: string
      readonly duplicateOf: number | null
      readonly known: boolean
    }
  | { readonly url: string; readonly valid: false; readonly problem: string }

export interface PreviewAnswer extends Answer<{
  readonly entries: ReadonlyArray<PreviewEntry>
  readonly summary: Readonly<
    Record<"total" | "valid" | "invalid" | "duplicates" | "known" | "toBuy", number>
  >
}> {
  readonly quota: {
    readonly maxCredits: number
    readonly availableCredits: number
    readonly affordable: boolean
  }
}

/** Figures that a provider gave for a URL, unchanged from the first to the last time. */
export interface Observation {
  /** An ISO 8601 time, like `lastFetchedAt`. */
  readonly fetchedAt: string
  readonly lastFetchedAt: string
  readonly provider: string
  readonly index: string | null
  readonly domainAuthority: number
  readonly pageAuthority: number
  readonly spamScore?: number
}

export type HistoryAnswer = Answer<{
  readonly url: string
  readonly target: string
  readonly observations: ReadonlyArray<Observation>
}>

export type CreditsAnswer = Answer<{ readonly availableCredits: number }>

export type KeyAnswer = Answer<{
  readonly id: string
  readonly label: string | null
  readonly account: string
  /** `check` allows sending batches, `read` everything else. */
  readonly scopes: ReadonlyArray<"check" | "read">
  /** An ISO 8601 time; null when the key does not expire. */
  readonly expiresAt: string | null
  /** Null when only the account's balance limits the key. */
  readonly budget: Budget | null
}>

/** The usage of requests, by day or by API key. Only requests that held credits are counted. */
export interface UsageRow {
  /** A UTC day such as 2026-11-24; only in usage by day. */
  readonly day?: string
  /** Only in usage by key; null for requests that named no key. */
  readonly key?: { readonly id: string; readonly label: string | null } | null
  /** The number of successful checks, which is `known + bought`. */
  readonly checks: number
  readonly credits: number
  /** Checks that were answered from the cache. */
  readonly known: number
  /** Checks that were bought from a provider. */
  readonly bought: number
  /** The number of failed checks by reason. */
  readonly failed: Readonly<Record<Failure["reason"], number>>
}

export type UsageAnswer = Answer<{
  readonly account: string
  readonly rows: ReadonlyArray<UsageRow>
}>

/** A grant, charge or correction of the account's credits. */
export interface StatementEntry {
  /** The number of the entry within the account, counted from 1 without gaps. */
  readonly sequence: number
  /** An ISO 8601 time. */
  readonly at: string
  readonly kind: "grant" | "charge" | "correction"
  /** Credits; negative for a charge or a correction. */
  readonly amount: number
  readonly balanceAfter: number
  /** The number of charged checks; null for a grant or a correction. */
  readonly urls: number | null
  readonly requestId: string | null
  /** The id of the charged key; null when it is not known. */
  readonly key: string | null
}

export type StatementAnswer = Answer<{
  readonly account: string
  readonly entries: ReadonlyArray<StatementEntry>
}>

/** The most that a key may spend in a period (UTC). */
export interface Budget {
  readonly credits: number
  readonly period: "day" | "month" | "total"
  /** Credits that are charged or held in this period. */
  readonly used: number
  readonly remaining: number
  /** The end of the period, as an ISO 8601 time; null for a `total` budget. */
  readonly resetsAt: string | null
}

export interface Refusal {
  readonly success: false
  readonly message: string
}

export const invalidIdempotencyKey = {
  code: "invalid_idempotency_key",
  message:
    "The header Idempotency-Key must contain 1 to 255 printable ASCII characters, not counting the " +
    "double quotes around them. A key without spaces, quotes and backslashes needs no double quotes",
  path: ["idempotency-key"],
} as const

/** The start of a 500's message when the request may have been charged; the request id follows. */
export const undecidedCharge =
  "The database did not answer in time, and this request may have been charged: " +
  "look in the account's statement for the request id "
