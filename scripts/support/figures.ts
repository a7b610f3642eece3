import { createHash } from "node:crypto"

/** What the fakes say of a name: the same whole number from 0 to 100 every time. */
export const figure = (name: string, what: string): number =>
  createHash("sha256").update(`${what} ${name}`).digest().readUInt32BE() % 101
