/**
 * A map of limited size that evicts entries that were not used recently. It has two generations,
 * and each use moves an entry to the younger one. When the younger generation is full, it replaces
 * the elder one, whose entries are dropped. So the most recently used entries always stay, up to
 * half the capacity, and a hit usually costs one lookup. An exact LRU order would cost a removal
 * and an insertion for each hit.
 *
 * The capacity is a number of entries. A long key counts as one entry for every `lengthOfOne`
 * characters, rounded up.
 */
export class Lru<V> {
  private younger = new Map<string, V>()
  private elder = new Map<string, V>()
  private youngerWeight = 0
  private readonly halfCapacity: number

  constructor(capacity: number) {
    this.halfCapacity = Math.max(1, Math.floor(capacity / 2))
  }

  get(key: string): V | undefined {
    const value = this.younger.get(key)
    if (value !== undefined) return value
    const kept = this.elder.get(key)
    if (kept !== undefined) this.set(key, kept)
    return kept
  }

  set(key: string, value: V): void {
    if (!this.younger.has(key)) {
      const weight = Math.ceil(key.length / lengthOfOne) || 1
      if (this.youngerWeight + weight > this.halfCapacity) {
        this.elder = this.younger
        this.younger = new Map()
        this.youngerWeight = 0
      }
      this.youngerWeight += weight
    }
    this.elder.delete(key)
    this.younger.set(key, value)
  }

  get size(): number {
    return this.younger.size + this.elder.size
  }
}

const lengthOfOne = 200
