/** One page of the accounts or keys that an operator looks for, newest first. */
export interface Search {
  /**
   * A part of an account's name or of a key's label, or the start of a key. Letters of ASCII match
   * in either case, except in keys. Undefined: everything.
   */
  readonly text?: string | undefined
  /** The maximum number of rows. */
  readonly limit: number
  /** The id of the last row of the page before. */
  readonly before?: string | undefined
}

/** Lower case for the letters of ASCII, as all stores have it. */
export const folded = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The number of characters of a key that stores keep, by which people recognize it. */
export const startLength = 9

/**
 * Takes the start of a key from a search. A whole key is cut, so that it finds its record. Undefined
 * for a text with which every key begins, or none.
 */
export const startOf = (text: string): string | undefined =>
  /^am_./.test(text) ? text.slice(0, startLength) : undefined
