/**
 * A queue that serves its owners in turn, so that one who asks for much delays nobody but himself.
 * An item that several owners ask for stands in all of their lines, and is served once.
 */
export class FairQueue<A> {
  /** The next owner to be served is the first. */
  private readonly lines = new Map<string, Set<A>>()
  private readonly owners = new Map<A, Set<string>>()
  private readonly lineCapacity: number

  constructor(lineCapacity: number) {
    this.lineCapacity = lineCapacity
  }

  get size(): number {
    return this.owners.size
  }

  /** False when the owner's line is full, and the item was not added to it. */
  offer(owner: string, item: A): boolean {
    const line = this.lines.get(owner) ?? new Set()
    if (line.size >= this.lineCapacity && !line.has(item)) return false
    this.lines.set(owner, line.add(item))
    this.owners.set(item, (this.owners.get(item) ?? new Set()).add(owner))
    return true
  }

  remove(item: A): void {
    for (const owner of this.owners.get(item) ?? []) {
      const line = this.lines.get(owner)
      line?.delete(item)
      if (line?.size === 0) this.lines.delete(owner)
    }
    this.owners.delete(item)
  }

  /** At most `count` items, one from each line in turn. */
  take(count: number): ReadonlyArray<A> {
    const taken: Array<A> = []
    while (taken.length < count) {
      const [next] = this.lines
      if (next === undefined) break
      const [owner, line] = next
      const [item] = line
      if (item === undefined) break
      taken.push(item)
      this.remove(item)
      // To the end, for it has been served.
      if (this.lines.delete(owner)) this.lines.set(owner, line)
    }
    return taken
  }
}
