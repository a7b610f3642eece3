/**
 * Parses the header `Retry-After` (RFC 9110): seconds, or a date. Returns milliseconds, 0 for a
 * past date, and undefined for an absent or invalid header.
 */
export const retryAfterMs = (header: string | null | undefined, now: number) => {
  if (header == null) return undefined
  const ms = /^\d{1,7}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
