/**
 * The typed client as a package: in JavaScript, for Node strips no types of what is installed, and
 * browsers of nothing; and without what the service depends on, a database in C++ for example.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"

/** Into `dist`: the client for promises with all that it needs, the one for Effect, the types. */
export const bundleClient = async (dist: string) => {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/AuthorityMetrics.ts"],
    outfile: join(dist, "client.js"),
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    logLevel: "warning",
  })
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/Client.ts"],
    outfile: join(dist, "client-effect.js"),
    bundle: true,
    // Two Effects in one program would not know each other.
    packages: "external",
    platform: "neutral",
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  })
  const tsc = join(root, "node_modules", ".bin", "tsc")
  execFileSync(tsc, ["--project", "scripts/client-types.json", "--outDir", join(dist, "types")], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  })
  writeFileSync(
    join(dist, "package.json"),
    `${JSON.stringify(packageOf(manifest), undefined, 2)}\n`,
  )
}

const packageOf = ({ dependencies, exports, license, name, version }: typeof manifest) => ({
  name,
  version,
  description: "The typed client of authority-metrics.",
  license,
  type: "module",
  sideEffects: false,
  exports: JSON.parse(JSON.stringify(exports).replaceAll("./dist/", "./")),
  files: ["client.js", "client-effect.js", "types"],
  dependencies: Object.fromEntries(
    (["@effect/platform", "effect", "uuid"] as const).map((library) => [
      library,
      // So that there is one Effect in the whole program.
      `^${dependencies[library]}`,
    ]),
  ),
})
