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
  /** For each item, the waiting line of the owner that offered it first. */
  private readonly places = new Map<A, Set<A>>()
  /** For an item of several owners, the waiting lines of the other owners. */
  private readonly others = new Map<A, Array<Set<A>>>()
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
    if (!this.places.has(item)) this.places.set(item, line)
    else this.others.set(item, [...(this.others.get(item) ?? []), line])
    return true
  }

  /** Removes the item from the waiting lines of all owners. */
  remove(item: A): void {
    this.places.get(item)?.delete(item)
    this.places.delete(item)
    if (this.others.size === 0) return
    for (const line of this.others.get(item) ?? []) line.delete(item)
    this.others.delete(item)
  }

  /**
   * Removes and returns at most `count` items, one from each owner's waiting line in turn. An owner
   * that is `apart` shares no take with others. An owner that is `busy` has to wait.
   */
  take(count: number, asked: Owners = equals): Taken<A> {
    const turns = this.turns(count, asked)
    const items: Array<A> = []
    const owners = new Set<string>()
    let at = 0
    while (items.length < count) {
      const turn = turns[at] ?? turns[(at = 0)]
      if (turn === undefined) break
      const { done, value } = turn.items.next()
      if (done === true) {
        this.lines.delete(turn.owner)
        turns.splice(at, 1)
        continue
      }
      this.remove(value)
      items.push(value)
      owners.add(turn.owner)
      at += 1
    }
    // The owners that had a turn go to the end of the map, the last one at the very end.
    for (const { line, owner } of [...turns.slice(at), ...turns.slice(0, at)]) {
      if (!owners.has(owner)) continue
      this.lines.delete(owner)
      if (line.size > 0) this.lines.set(owner, line)
    }
    return { items, owners }
  }

  /** The owners whose items may be in the next take, `count` at most. */
  private turns(count: number, { isApart, isBusy }: Owners) {
    const turns: Array<Turn<A>> = []
    for (const [owner, line] of this.lines) {
      if (turns.length >= count) break
      if (line.size === 0) this.lines.delete(owner)
      const isAlone = isApart(owner)
      if (line.size === 0 || isBusy(owner) || (isAlone && turns.length > 0)) continue
      turns.push({ owner, line, items: line.values() })
      if (isAlone) break
    }
    return turns
  }
}

interface Turn<A> {
  readonly owner: string
  readonly line: Set<A>
  readonly items: Iterator<A, undefined>
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
