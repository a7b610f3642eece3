import { lstatSync } from "node:fs"

/** Throws for a symbolic link, so that a run writes to no file that somebody else has chosen. */
export const refuseLink = (path: string): void => {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new Error(`${path} is a symbolic link; delete it, or move it away`)
  }
}
