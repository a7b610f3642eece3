/**
 * Builds `dist/authority.cjs`: the program and its libraries in one file, with SQLite's addon for
 * this platform beside it. Also builds the client that the package exports.
 */
import { join } from "node:path"
import { bundle, dist } from "./bundle.ts"
import { bundleClient } from "./bundle-client.ts"

await bundle({
  outfile: join(dist, "authority.cjs"),
  addon: `${process.platform}-${process.arch}`,
  rest: { loader: { ".node": "copy" }, assetNames: "[name]" },
})

await bundleClient(dist)
