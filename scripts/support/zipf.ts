import { PCGRandom } from "effect/Utils"

/**
 * Returns a function that draws a whole number from 0 to `count` - 1. The probability of n is
 * proportional to 1/(n + 1). The generator has a seed, so every run draws the same numbers.
 */
export const zipf = (count: number): (() => number) => {
  const random = new PCGRandom(1)
  const sums = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) sums[i] = sum += 1 / (i + 1)
  return () => {
    const point = random.number() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sums[middle] ?? 0) < point) low = middle + 1
      else high = middle
    }
    return low
  }
}
