/** A map of limited size that forgets what has not been used for the longest time. */
export class Lru<K, V> {
  private readonly map = new Map<K, V>()
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get(key: K): V | undefined {
    const value = this.map.get(key)
    if (value === undefined) return undefined
    // A Map remembers the order of insertion.
    this.map.delete(key)
    this.map.set(key, value)
    return value
  }

  set(key: K, value: V): void {
    this.map.delete(key)
    this.map.set(key, value)
    if (this.map.size <= this.capacity) return
    const [oldest] = this.map.keys()
    if (oldest !== undefined) this.map.delete(oldest)
  }

  delete(key: K): void {
    this.map.delete(key)
  }

  get size(): number {
    return this.map.size
  }
}
