/** Builds the program as `dist/authority.cjs`, with SQLite's addon for this platform beside it. */
import { join } from "node:path"
import { bundle, dist } from "./bundle.ts"

export const bundleProgram = () =>
  bundle({
    outfile: join(dist, "authority.cjs"),
    addon: `${process.platform}-${process.arch}`,
    rest: { loader: { ".node": "copy" }, assetNames: "[name]" },
  })
