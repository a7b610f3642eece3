/**
 * Builds the typed client as a package of its own. It is JavaScript, because neither browsers nor
 * Node (in node_modules) strip types. It has none of the service's dependencies, such as SQLite.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"

/** Writes to `dist` the promise client with its libraries, the Effect client, and the types. */
export const bundleClient = async (dist: string) => {
  const define = { VERSION: JSON.stringify(manifest.version) }
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/PromiseClient.ts"],
    outfile: join(dist, "client.js"),
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    define,
    logLevel: "warning",
  })
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/EffectClient.ts"],
    outfile: join(dist, "client-effect.js"),
    bundle: true,
    // Do not bundle Effect: two copies of it in one program do not work together.
    external: ["effect", "@effect/*", "uuid"],
    platform: "neutral",
    format: "esm",
    target: "es2022",
    define,
    logLevel: "warning",
  })
  const tsc = join(root, "node_modules", ".bin", "tsc")
  execFileSync(tsc, ["--project", "scripts/client-types.json", "--outDir", join(dist, "types")], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  })
  writeFileSync(join(dist, "README.md"), readme())
  copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"))
  writeFileSync(
    join(dist, "package.json"),
    `${JSON.stringify(packageOf(manifest), undefined, 2)}\n`,
  )
}

/** The part of the guide that is about the package. */
const readme = () => {
  const guide = readFileSync(join(root, "src/pages/guide/client.md"), "utf8")
  const [about = ""] = guide.slice(guide.indexOf("\n## ")).split("\n## Long lists")
  return `# authority-metrics\n\nThe typed client of the service authority-metrics.\n${about}`
}

const packageOf = ({
  dependencies,
  engines,
  exports,
  license,
  name,
  version,
}: typeof manifest) => ({
  name,
  version,
  description: "The typed client of authority-metrics.",
  license,
  engines,
  type: "module",
  sideEffects: false,
  exports: JSON.parse(JSON.stringify(exports).replaceAll("./dist/", "./")),
  files: ["client.js", "client-effect.js", "types"],
  dependencies: Object.fromEntries(
    (["@effect/platform", "effect", "uuid"] as const).map((library) => [
      library,
      // A range, so that npm can share the copy of Effect that the application installs.
      `^${dependencies[library]}`,
    ]),
  ),
})
