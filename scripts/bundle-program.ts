/**
 * Builds the program as `dist/authority.cjs`, with the web pages and SQLite's addon for this
 * platform beside it.
 */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { bundle, dist } from "./bundle.ts"
import { writePages } from "./pages.ts"

export const bundleProgram = async () => {
  await writePages()
  const addon = `${process.platform}-${process.arch}` as const
  // A service that runs from `dist` has mapped the addon into its memory. Writing over the file would
  // crash the service with SIGSEGV, but a new file leaves the mapped one as it is.
  await rm(join(dist, `${addon}.node`), { force: true })
  await bundle({
    outfile: join(dist, "authority.cjs"),
    addon,
    rest: { loader: { ".node": "copy" }, assetNames: "[name]" },
  })
}
