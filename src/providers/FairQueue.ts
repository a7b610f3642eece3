/**
 * A queue of items that belong to owners, such as accounts. `take` serves the owners in turn (round
 * robin), so an owner with many items delays only its own items. An item that several owners offer
 * is in the waiting line of each of these owners, and is taken once.
 */
export class FairQueue<A> {
  /**
   * For each owner, the waiting line of that owner's items. The first owner in the map is served
   * next.
   */
  private readonly lines = new Map<string, Set<A>>()
  /**
   * For each item, the waiting lines that contain the item: one line for each owner that offered
   * it.
   */
  private readonly places = new Map<A, Array<Set<A>>>()
  private readonly lineCapacity: number

  constructor(lineCapacity: number) {
    this.lineCapacity = lineCapacity
  }

  /** Number of distinct items. */
  get size(): number {
    return this.places.size
  }

  /**
   * Adds the item to the owner's waiting line, unless the line has the item already. Returns false,
   * and adds nothing, when the line is full.
   */
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

  /** Removes the item from the waiting lines of all owners. */
  remove(item: A): void {
    for (const line of this.places.get(item) ?? []) line.delete(item)
    this.places.delete(item)
  }

  /**
   * Removes and returns at most `count` items, one from each owner's waiting line in turn. An owner
   * that is `apart` shares no take with others. An owner that is `busy` has to wait.
   */
  take(count: number, { isApart, isBusy }: Owners = equals): Taken<A> {
    const items: Array<A> = []
    const owners = new Set<string>()
    for (const [owner, line] of this.lines) {
      if (items.length >= count) break
      const isAlone = isApart(owner)
      if (isBusy(owner) || (isAlone && items.length > 0)) continue
      // Move the owner to the end of the map: delete the owner here, and add it again below if its
      // waiting line has further items. This loop then visits the owner again.
      this.lines.delete(owner)
      const [first] = line
      if (first === undefined) continue
      const next = isAlone ? Array.from(line).slice(0, count) : [first]
      for (const item of next) this.remove(item)
      items.push(...next)
      owners.add(owner)
      if (line.size > 0) this.lines.set(owner, line)
      if (isAlone) break
    }
    return { items, owners }
  }
}

/** What `take` wants to know about owners. */
export interface Owners {
  readonly isApart: (owner: string) => boolean
  readonly isBusy: (owner: string) => boolean
}

export interface Taken<A> {
  readonly items: ReadonlyArray<A>
  readonly owners: ReadonlySet<string>
}

const equals: Owners = { isApart: () => false, isBusy: () => false }
