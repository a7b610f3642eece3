/**
 * The typed client as the package exports it: in JavaScript, for Node strips no types of what is
 * installed, and browsers of nothing.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { build } from "esbuild"
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
}
