/**
 * Sums amounts by name over a sliding period. A name is forgotten when all of its amounts are older
 * than the period. Times are milliseconds of the monotonic clock.
 */
export class Recent {
  private readonly entries = new Map<
    string,
    Array<{ readonly at: number; readonly count: number }>
  >()
  private readonly perMs: number

  constructor(perMs: number) {
    this.perMs = perMs
  }

  add(name: string, count: number, now: number): void {
    const entries = this.within(name, now)
    const last = entries.at(-1)
    // Amounts within a hundredth of the period share an entry, so that a busy name stays small.
    if (last !== undefined && now - last.at < this.perMs / 100) {
      entries[entries.length - 1] = { at: last.at, count: last.count + count }
    } else entries.push({ at: now, count })
    this.entries.set(name, entries)
  }

  count(name: string, now: number): number {
    return this.within(name, now).reduce((sum, { count }) => sum + count, 0)
  }

  private within(name: string, now: number) {
    const entries = this.entries.get(name) ?? []
    while (entries[0] !== undefined && entries[0].at <= now - this.perMs) entries.shift()
    if (entries.length === 0) this.entries.delete(name)
    return entries
  }
}
