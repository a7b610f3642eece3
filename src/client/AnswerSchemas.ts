/** Valibot schemas for the response bodies. Valibot is small enough for a web page. */
import * as v from "valibot"
import type * as Wire from "../contract/Wire.ts"

export type Schema<A> = v.GenericSchema<unknown, A>

export const Figures = v.object({
  domainAuthority: v.number(),
  pageAuthority: v.number(),
  spamScore: v.exactOptional(v.number()),
})

export const Reason = v.picklist(["PROVIDER_ERROR", "SERVER_ERROR", "INVALID_URL"])

const Provenance = v.object({
  provider: v.string(),
  source: v.picklist(["bought", "known", "stale"]),
  fetchedAt: v.string(),
  ageSeconds: v.number(),
  index: v.nullable(v.string()),
  of: v.exactOptional(v.string()),
})

const Cause = v.picklist(["invalid", "unknown", "failed", "timeout", "exhausted", "internal"])

export const Success = v.object({
  url: v.string(),
  ...Figures.entries,
  provenance: v.exactOptional(Provenance),
})

export const Failure = v.object({
  url: v.string(),
  reason: Reason,
  cause: v.exactOptional(Cause),
  detail: v.exactOptional(v.string()),
})

const answer = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object({ success: v.literal(true), data: v.object(entries) })

export const BatchAnswer: Schema<Wire.BatchAnswer> = v.object({
  success: v.literal(true),
  data: v.object({
    successUrls: v.array(Success),
    failedUrls: v.array(Failure),
  }),
  quota: v.object({ creditsUsed: v.number() }),
})

const PreviewEntry = v.variant("valid", [
  v.object({
    url: v.string(),
    valid: v.literal(true),
    target: v.string(),
    duplicateOf: v.nullable(v.number()),
    known: v.boolean(),
  }),
  v.object({ url: v.string(), valid: v.literal(false), problem: v.string() }),
])

export const PreviewAnswer: Schema<Wire.PreviewAnswer> = v.object({
  success: v.literal(true),
  data: v.object({
    entries: v.array(PreviewEntry),
    summary: v.object({
      total: v.number(),
      valid: v.number(),
      invalid: v.number(),
      duplicates: v.number(),
      known: v.number(),
      toBuy: v.number(),
    }),
  }),
  quota: v.object({
    maxCredits: v.number(),
    availableCredits: v.number(),
    affordable: v.boolean(),
  }),
})

export const HistoryAnswer: Schema<Wire.HistoryAnswer> = answer({
  url: v.string(),
  target: v.string(),
  observations: v.array(
    v.object({
      fetchedAt: v.string(),
      lastFetchedAt: v.string(),
      provider: v.string(),
      index: v.nullable(v.string()),
      ...Figures.entries,
    }),
  ),
})

const Reasons = { INVALID_URL: v.number(), PROVIDER_ERROR: v.number(), SERVER_ERROR: v.number() }

export const UsageAnswer: Schema<Wire.UsageAnswer> = answer({
  account: v.string(),
  rows: v.array(
    v.object({
      day: v.exactOptional(v.string()),
      key: v.exactOptional(v.nullable(v.object({ id: v.string(), label: v.nullable(v.string()) }))),
      checks: v.number(),
      credits: v.number(),
      known: v.number(),
      bought: v.number(),
      failed: v.object(Reasons),
    }),
  ),
})

export const StatementAnswer: Schema<Wire.StatementAnswer> = answer({
  account: v.string(),
  entries: v.array(
    v.object({
      sequence: v.number(),
      at: v.string(),
      kind: v.picklist(["grant", "charge", "correction"]),
      amount: v.number(),
      balanceAfter: v.number(),
      urls: v.nullable(v.number()),
      requestId: v.nullable(v.string()),
      key: v.nullable(v.string()),
    }),
  ),
})

export const CreditsAnswer: Schema<Wire.CreditsAnswer> = answer({ availableCredits: v.number() })

export const KeyAnswer: Schema<Wire.KeyAnswer> = answer({
  id: v.string(),
  label: v.nullable(v.string()),
  account: v.string(),
  scopes: v.array(v.picklist(["check", "read"])),
  expiresAt: v.nullable(v.string()),
  budget: v.nullable(
    v.object({
      credits: v.number(),
      period: v.picklist(["day", "month", "total"]),
      used: v.number(),
      remaining: v.number(),
      resetsAt: v.nullable(v.string()),
    }),
  ),
})

export const Refusal: Schema<Wire.Refusal> = v.object({
  success: v.literal(false),
  message: v.string(),
})

const Issue = v.looseObject({ code: v.string(), message: v.string(), path: v.array(v.string()) })

export const InvalidRequest = v.object({ error: v.object({ issues: v.array(Issue) }) })

/** Returns the body as the schema's type, or undefined if the schema rejects it. */
export const parse = <A>(schema: Schema<A>, body: unknown): A | undefined => {
  const parsed = v.safeParse(schema, body)
  return parsed.success ? parsed.output : undefined
}
