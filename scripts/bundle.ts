/**
 * Bundles the program and its libraries into one JavaScript file. The bundler inserts the program's
 * version and the hash of the Git commit, which `--version` prints.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { build, type BuildOptions } from "esbuild"
import manifest from "../package.json" with { type: "json" }

export const root = join(import.meta.dirname, "..")
export const dist = join(root, "dist")

/** The name of SQLite's addon for a platform, for example `linux-x64`. */
export type Addon = `${string}-${string}`

export const bundle = (options: {
  readonly outfile: string
  readonly addon: Addon
  /** Build steps to omit. Names of steps that only `build-binary.ts` has are ignored. */
  readonly without?: ReadonlyArray<string>
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
