/**
 * Parses the header `Retry-After` (RFC 9110), which has seconds or a date. Returns milliseconds: 0
 * for a past date, undefined for an absent or invalid header.
 */
export const retryAfterMs = (header: string | null | undefined, now: number) => {
  if (header == null) return undefined
  // Every HTTP date contains a time of day. `Date.parse` would also accept "-5" and "soon 2030".
  const date = header.includes(":") ? Date.parse(header) : Number.NaN
  const ms = /^\d{1,7}$/.test(header) ? Number(header) * 1000 : date - now
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
