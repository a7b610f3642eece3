/** Finds what only the full run of the tests needs: the packages that `test/full` installs. */
import { createRequire } from "node:module"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../test/full")

export const deno = join(folder, "node_modules/.bin/deno")

/** Returns the path of a module. Throws when the package is not installed. */
export const resolve = (name: string) => {
  try {
    return createRequire(join(folder, "package.json")).resolve(name)
  } catch (cause) {
    throw new Error(`${name} is not installed: run 'npm ci --prefix test/full'`, { cause })
  }
}
