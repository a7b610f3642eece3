import { createHash } from "node:crypto"

/** Returns a fake's figure for a name: a whole number from 0 to 100, the same every time. */
export const figure = (name: string, what: string): number =>
  createHash("sha256").update(`${what} ${name}`).digest().readUInt32BE() % 101
