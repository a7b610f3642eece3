/**
 * A map of limited size that forgets what has not been used for long. It has a younger and an elder
 * generation: what is used is in the younger one, and when that is full it becomes the elder one,
 * whose rest is forgotten. So a use costs a look, where an exact order would cost a removal and an
 * insertion; what is used survives at least as many insertions as half the capacity.
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

  delete(key: K): void {
    this.younger.delete(key)
    this.elder.delete(key)
  }

  get size(): number {
    return this.younger.size + this.elder.size
  }
}
