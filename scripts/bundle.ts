/**
 * Bundles the program and its libraries into one JavaScript file: `dist/authority.cjs`, or a part of
 * the executable. The bundler inserts the program's
 * version and the hash of the Git commit, which `--version` prints.
 */
import { execFileSync } from "node:child_process"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { build, type BuildOptions } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { writePages } from "./pages.ts"

export const root = join(import.meta.dirname, "..")
export const dist = join(root, "dist")

/** The name of SQLite's addon for a platform, for example `linux-x64`. */
export type Addon = `${string}-${string}`

export const bundle = (options: {
  readonly outfile: string
  readonly addon: Addon
  /**
   * Further options of esbuild: how to bundle SQLite's addon, plugins, and code to insert before
   * the program (`banner`) and after it (`footer`).
   */
  readonly rest: Pick<BuildOptions, "assetNames" | "banner" | "footer" | "loader" | "plugins">
}) =>
  build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts"],
    outfile: options.outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node22",
    // Identifiers are not minified, because errors and logs contain them.
    minifySyntax: true,
    minifyWhitespace: true,
    // This entry point of better-sqlite3 imports the addon by a fixed path, so that the bundler can
    // include the addon.
    alias: { "better-sqlite3": `better-sqlite3/${options.addon}` },
    define: {
      ...definitions(),
      // The pages are beside the program. In the executable they are assets.
      DIST: '""',
      "import.meta.dirname": "__dirname",
    },
    logLevel: "warning",
    ...options.rest,
  })

/**
 * Builds the program as `dist/authority.cjs`, with the web pages and SQLite's addon for this
 * platform beside it.
 */
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

/** Returns the constants that the build inserts into the sources. */
export const definitions = () => ({
  COMMIT: JSON.stringify(commit()),
  VERSION: JSON.stringify(manifest.version),
})

/**
 * Shortens the commit to a fixed length. The length that Git chooses depends on the clone's
 * history.
 */
const commit = () => {
  try {
    return execFileSync("git", ["rev-parse", "--short=10", "HEAD"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim()
  } catch {
    return "unknown"
  }
}
