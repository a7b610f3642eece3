/** Random numbers that depend on a seed alone (mulberry32). Equal seeds give equal numbers. */
export class Random {
  private state: number

  /** Different `stream`s of one seed are independent. */
  constructor(seed: number, stream = 0) {
    this.state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)
  }

  /** A number from 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<A>(items: readonly [A, ...ReadonlyArray<A>]): A {
    return items[this.below(items.length)] ?? items[0]
  }
}
