/**
 * Parses the header `Retry-After` (RFC 9110): seconds, or a date. Returns milliseconds, 0 for a
 * past date, and undefined for an absent or invalid header.
 */
export const retryAfterMs = (header: string | null | undefined, now: number) => {
  if (header == null) return undefined
  // Every date of HTTP has a time of day. `Date.parse` takes "-5" and "soon 2030" for dates, too.
  const date = header.includes(":") ? Date.parse(header) : Number.NaN
  const ms = /^\d{1,7}$/.test(header) ? Number(header) * 1000 : date - now
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
