/**
 * A queue that serves its owners in turn, so that one who asks for much delays nobody but himself.
 * An item that several owners ask for stands in all of their lines, and is served once.
 */
export class FairQueue<A> {
  /** The next owner to be served is the first. */
  private readonly lines = new Map<string, Set<A>>()
  /** The lines in which an item stands. */
  private readonly places = new Map<A, Array<Set<A>>>()
  private readonly lineCapacity: number

  constructor(lineCapacity: number) {
    this.lineCapacity = lineCapacity
  }

  get size(): number {
    return this.places.size
  }

  /** False when the owner's line is full, and the item was not added to it. */
  offer(owner: string, item: A): boolean {
    const line = this.lines.get(owner) ?? new Set()
    if (line.has(item)) return true
    if (line.size >= this.lineCapacity) return false
    this.lines.set(owner, line.add(item))
    const places = this.places.get(item)
    if (places === undefined) this.places.set(item, [line])
    else places.push(line)
    return true
  }

  remove(item: A): void {
    for (const line of this.places.get(item) ?? []) line.delete(item)
    this.places.delete(item)
  }

  /** At most `count` items, one from each line in turn. */
  take(count: number): ReadonlyArray<A> {
    const taken: Array<A> = []
    for (const [owner, line] of this.lines) {
      if (taken.length >= count) break
      // A line with more to serve goes to the end, where this loop comes to it again.
      this.lines.delete(owner)
      const [item] = line
      if (item === undefined) continue
      taken.push(item)
      this.remove(item)
      if (line.size > 0) this.lines.set(owner, line)
    }
    return taken
  }
}
