import { createHash } from "node:crypto"

/**
 * Returns the figure that a fake vendor has for a name: a whole number from 0 to 100. The same
 * arguments always give the same figure.
 */
export const figure = (name: string, what: string): number =>
  createHash("sha256").update(`${what} ${name}`).digest().readUInt32BE() % 101
