/** Formats a number with its noun: `1 credit`, `1,000 credits`. */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`
