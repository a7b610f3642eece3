/**
 * Returns the number below which the given share of `numbers` lies; a share of 0.5 gives the
 * median.
 */
export const quantile = (numbers: ReadonlyArray<number>, share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? Number.NaN

export const median = (numbers: ReadonlyArray<number>) => quantile(numbers, 0.5)
