/**
 * A map of limited size that evicts entries that were not used recently. The entries are in two
 * generations, and each use moves an entry to the younger generation. When the younger generation
 * is full, the map drops the elder generation, and the younger generation becomes the elder one. So
 * the map always keeps the most recently used entries, up to half its capacity. A hit usually costs
 * one lookup. An exact LRU order would cost a removal and an insertion for each hit.
 */
export class Lru<K, V> {
  private younger = new Map<K, V>()
  private elder = new Map<K, V>()
  private readonly halfCapacity: number

  constructor(capacity: number) {
    this.halfCapacity = Math.max(1, Math.floor(capacity / 2))
  }

  get(key: K): V | undefined {
    const value = this.younger.get(key)
    if (value !== undefined) return value
    const kept = this.elder.get(key)
    if (kept !== undefined) this.set(key, kept)
    return kept
  }

  set(key: K, value: V): void {
    if (this.younger.size >= this.halfCapacity && !this.younger.has(key)) {
      this.elder = this.younger
      this.younger = new Map()
    }
    this.elder.delete(key)
    this.younger.set(key, value)
  }

  get size(): number {
    return this.younger.size + this.elder.size
  }
}
