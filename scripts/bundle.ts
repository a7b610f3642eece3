/** The program and its libraries in one file of JavaScript, which tells the commit it is from. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { readFile, writeFile } from "node:fs/promises"
import { build, type BuildOptions } from "esbuild"
import { makePages } from "./pages.ts"
import { withYoungFunctions } from "./young-functions.ts"

export const root = join(import.meta.dirname, "..")
export const dist = join(root, "dist")

/** What SQLite's addon for a platform goes by, as `linux-x64`. */
export type Addon = `${string}-${string}`

/** A step that `bench/ablation.ts` leaves out. */
export type Step = "young functions"

export const bundle = async (options: {
  readonly outfile: string
  readonly addon: Addon
  /** Steps to leave out; those of the executable mean nothing here. */
  readonly without?: ReadonlyArray<string>
  /** What becomes of the addon, which is no JavaScript, and what stands around the program. */
  readonly rest: Pick<BuildOptions, "assetNames" | "banner" | "footer" | "loader" | "plugins">
}) => {
  const has = (step: Step) => !options.without?.includes(step)
  await build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts"],
    outfile: options.outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node22",
    // Names stay as they are: errors and logs tell them.
    minifySyntax: true,
    minifyWhitespace: true,
    // This entry names its addon outright, so that the bundler can take it along.
    alias: { "better-sqlite3": `better-sqlite3/${options.addon}` },
    define: {
      COMMIT: JSON.stringify(commit()),
      // Only sources look for their pages in a folder.
      "import.meta.dirname": '""',
      PAGES: JSON.stringify(JSON.stringify(await makePages())),
    },
    logLevel: "warning",
    ...options.rest,
  })
  if (!has("young functions")) return
  // At the very end, for a comma without effect is what the bundler leaves out.
  await writeFile(options.outfile, withYoungFunctions(await readFile(options.outfile, "utf8")))
}

/** Of a fixed length: Git's own choice depends on how much of the history a clone has. */
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
