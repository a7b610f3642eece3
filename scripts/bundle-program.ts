/**
 * Builds the program as `dist/authority.cjs`, with the web pages and SQLite's addon for this
 * platform beside it.
 */
import { join } from "node:path"
import { bundle, dist } from "./bundle.ts"
import { writePages } from "./pages.ts"

export const bundleProgram = async () => {
  await writePages()
  await bundle({
    outfile: join(dist, "authority.cjs"),
    addon: `${process.platform}-${process.arch}`,
    rest: { loader: { ".node": "copy" }, assetNames: "[name]" },
  })
}
