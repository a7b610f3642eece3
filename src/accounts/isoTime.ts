import { latestTime } from "./TimeSpan.ts"

/**
 * Writes a time in epoch milliseconds as ISO 8601; null stays null. A time beyond `latestTime` becomes
 * `latestTime`.
 */
export function isoTime(epochMs: number): string
export function isoTime(epochMs: number | null): string | null
export function isoTime(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(Math.min(epochMs, latestTime)).toISOString()
}
