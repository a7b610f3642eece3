/**
 * Builds the package's entries for programs that run the service: `/server`, `/provider` and
 * `/testing`. Common modules are in shared chunks, so that an application loads each module once.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { definitions, root } from "./bundle.ts"

/** The entry points of the package that contain the service, each with its source file. */
export const serverEntries = {
  server: "src/server/public.ts",
  provider: "src/providers/package.ts",
  testing: "test/suites/public.ts",
}

/**
 * The packages that are not bundled: an application needs a single copy of Effect, and the addon of
 * better-sqlite3 is not JavaScript. All other libraries are bundled. If npm installed them, it
 * would ignore our `overrides`, and `@effect/sql-sqlite-node` would get an older better-sqlite3.
 * That version does not load on every platform.
 */
const external = ["effect", "@effect/platform", "better-sqlite3"]

/** The files and folders of `dist` that this build makes. */
export const files = [...Object.keys(serverEntries).map((name) => `${name}.js`), "chunks"]

export const bundleServer = async (dist: string) => {
  rmSync(join(dist, "chunks"), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: serverEntries,
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
    define: { ...definitions(), DIST: '".."' },
    // CommonJS modules in the bundle, such as pg, load Node's own modules with `require`.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module";const require = makeRequire(import.meta.url);',
    },
    logLevel: "warning",
  })
}
