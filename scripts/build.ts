/**
 * Makes `dist/authority.cjs`: the program and its libraries in one file, with SQLite's addon for
 * this platform beside it.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"

const root = join(import.meta.dirname, "..")
const dist = join(root, "dist")

rmSync(dist, { recursive: true, force: true })
await build({
  entryPoints: [join(root, "src/main.ts")],
  outfile: join(dist, "authority.cjs"),
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node22",
  minify: true,
  keepNames: true,
  // This entry names its addon outright, so that the bundler can take it along.
  alias: { "better-sqlite3": `better-sqlite3/${process.platform}-${process.arch}` },
  loader: { ".node": "copy" },
  assetNames: "[name]",
  logLevel: "warning",
})
