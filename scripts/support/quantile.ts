/** The number below which a share of the numbers is, such as 0.5 for the median. */
export const quantile = (numbers: ReadonlyArray<number>, share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? Number.NaN

export const median = (numbers: ReadonlyArray<number>) => quantile(numbers, 0.5)
