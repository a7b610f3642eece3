/**
 * The plain code that the ablation benchmark puts in place of src/cache/Lru.ts: a map that stores
 * nothing.
 */
export class Lru<K, V> {
  get(_key: K): V | undefined {
    return undefined
  }

  set(_key: K, _value: V): void {}

  get size(): number {
    return 0
  }
}
