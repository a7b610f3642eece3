/** Takes over the batches that earlier versions recorded. */
import { createHash } from "node:crypto"
import type { Judge } from "../client/Targets.ts"
import { maxUrls } from "../contract/Limits.ts"
import { expand } from "../Metrics.ts"
import type { Batch, Journal } from "../run/Journal.ts"
import type { EarlierBatch, EarlierResult } from "./CheckJournal.ts"

/**
 * Stores those batches in the journal whose URLs are still successive URLs of the list. Returns how
 * many batches are not.
 */
export const adopt = async (
  earlier: ReadonlyArray<EarlierBatch>,
  list: ReadonlyArray<string>,
  judge: Judge,
  journal: Journal,
): Promise<number> => {
  const found = find(earlier, list)
  const urls = [...new Set(found.flatMap(({ urls }) => urls))]
  const targets = new Map<string, string>()
  for (let start = 0; start < urls.length; start += maxUrls) {
    const { entries } = await judge(urls.slice(start, start + maxUrls))
    await journal.keepEntries(entries)
    for (const entry of entries) if ("target" in entry) targets.set(entry.url, entry.target)
  }
  for (const { batch, urls } of found) await journal.keepBatch(batchOf(batch, urls, targets))
  return earlier.length - found.length
}

/** Finds the place of each batch. Lines may have been added or removed before it. */
const find = (earlier: ReadonlyArray<EarlierBatch>, list: ReadonlyArray<string>) => {
  const left = new Map(
    earlier.map((batch) => [batch.fingerprint.replace(withProvenance, ""), batch]),
  )
  const lengths = new Set([maxUrls, ...earlier.flatMap(({ results }) => results?.length ?? [])])
  return list.flatMap((_, start) =>
    [...new Set([...lengths, list.length - start])].flatMap((length) => {
      if (left.size === 0 || length > Math.min(maxUrls, list.length - start)) return []
      const urls = list.slice(start, start + length)
      const fingerprint = fingerprintOf(urls)
      const batch = left.get(fingerprint)
      if (batch === undefined) return []
      left.delete(fingerprint)
      return [{ batch, urls }]
    }),
  )
}

type Facts = Extract<
  EarlierResult,
  { readonly domainAuthority: number } | { readonly reason: string }
>

/** True for a result of the versions that asked for the provenance. */
const hasFacts = (result: EarlierResult): result is Facts =>
  typeof result === "object" && ("domainAuthority" in result || "reason" in result)

/** The end of the fingerprint of a batch that asked for the provenance. */
const withProvenance = " with provenance"

const fingerprintOf = (urls: ReadonlyArray<string>) =>
  createHash("sha256").update(JSON.stringify(urls)).digest("base64")

const batchOf = (
  { creditsUsed, fingerprint, key, results, sentAt }: EarlierBatch,
  urls: ReadonlyArray<string>,
  targets: ReadonlyMap<string, string>,
): Batch => {
  const items = urls.map((url) => {
    const target = targets.get(url)
    return target === undefined ? { url } : { url, target }
  })
  const batch = { key, items, sentAt, provenance: fingerprint.endsWith(withProvenance) }
  if (results === null) return batch
  const outcomes = results.map((result, i) => ({
    url: urls[i] ?? "",
    ...(typeof result === "string"
      ? { reason: result }
      : hasFacts(result)
        ? result
        : expand(result)),
  }))
  // Nobody recorded when the answer came.
  return { ...batch, answer: { outcomes, creditsUsed, answeredAt: sentAt } }
}
