/**
 * Builds the package's entries for programs that run the service: `/server`, `/provider` and
 * `/testing`. They share chunks, so that an application has one copy of each module.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "esbuild"
import { definitions, root } from "./bundle.ts"

/** Each entry of the package that runs on a server, and its source. */
const entries = {
  server: "src/server/public.ts",
  provider: "src/providers/public.ts",
  testing: "src/testing/public.ts",
}

/**
 * The packages that the application installs itself: it needs one copy of Effect, and SQLite's
 * addon is not JavaScript. The rest is in the bundle, because npm ignores the `overrides` of a
 * dependency and would install an SQLite that does not load everywhere.
 */
const external = ["effect", "@effect/platform", "better-sqlite3"]

/** The files and folders of `dist` that this build makes, besides the types. */
export const files = [...Object.keys(entries).map((name) => `${name}.js`), "chunks"]

export const bundleServer = async (dist: string) => {
  rmSync(join(dist, "chunks"), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: dist,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    external: external.flatMap((name) => [name, `${name}/*`]),
    platform: "node",
    format: "esm",
    target: "node22",
    minifySyntax: true,
    minifyWhitespace: true,
    define: await definitions(),
    // CommonJS modules in the bundle, such as pg, load Node's own modules with `require`.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module";const require = makeRequire(import.meta.url);',
    },
    logLevel: "warning",
  })
}

/** Writes the types of these entries. Deletes the types that no entry of the package uses. */
export const makeTypes = (dist: string, clients: ReadonlyArray<string>) => {
  const types = join(dist, "types")
  const tsc = join(root, "node_modules", ".bin", "tsc")
  execFileSync(tsc, ["--project", "scripts/server-types.json", "--outDir", types], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  })
  const shown = new Set<string>()
  for (const source of [...clients, ...Object.values(entries)]) {
    follow(join(types, source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")), shown)
  }
  for (const entry of readdirSync(types, { recursive: true, encoding: "utf8" })) {
    const file = join(types, entry)
    if (existsSync(file) && statSync(file).isFile() && !shown.has(file)) rmSync(file)
  }
}

/** Adds a file and all files that it imports to `shown`. */
const follow = (file: string, shown: Set<string>) => {
  if (shown.has(file)) return
  shown.add(file)
  const text = readFileSync(file, "utf8")
  for (const [, path = ""] of text.matchAll(/(?:from |import\(|import )"(\.[^"]*)"/g)) {
    follow(join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts")), shown)
  }
}
