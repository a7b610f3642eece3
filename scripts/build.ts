/**
 * Builds `dist/authority.cjs`: the program and its libraries in one file, with SQLite's addon for
 * this platform beside it. Also builds the package for other projects.
 */
import { join } from "node:path"
import { bundle, dist } from "./bundle.ts"
import { bundlePackage } from "./bundle-package.ts"

await bundle({
  outfile: join(dist, "authority.cjs"),
  addon: `${process.platform}-${process.arch}`,
  rest: { loader: { ".node": "copy" }, assetNames: "[name]" },
})

await bundlePackage(dist)
