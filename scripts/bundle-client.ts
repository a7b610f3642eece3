/**
 * Builds the typed clients of the package as JavaScript. Browsers cannot run TypeScript, and Node
 * does not strip types in node_modules. The clients do not depend on libraries of the service, such
 * as SQLite.
 */
import { join } from "node:path"
import { build, type Plugin } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"

/** The source of each client. */
export const clientEntries = {
  client: "src/client/PromiseClient.ts",
  "client-effect": "src/client/EffectClient.ts",
}

/** Both clients throw errors of the same classes, so that `instanceof` finds the errors of both. */
const overPromiseClient: Plugin = {
  name: "over the promise client",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/(ClientError|PromiseClient)\.ts$/ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: "./client.js", external: true },
    ),
}

/**
 * Writes both clients to `dist`: the promise client as one file with its libraries, and the client
 * for Effect, which imports the promise client and Effect.
 */
export const bundleClient = async (dist: string) => {
  const define = { VERSION: JSON.stringify(manifest.version) }
  await build({
    absWorkingDir: root,
    entryPoints: [clientEntries.client],
    outfile: join(dist, "client.js"),
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    // Node prints the line of code that threw an uncaught error, so keep lines short.
    lineLimit: 160,
    // An error that is printed shows the name of its class.
    keepNames: true,
    define,
    logLevel: "warning",
  })
  await build({
    absWorkingDir: root,
    entryPoints: [clientEntries["client-effect"]],
    outfile: join(dist, "client-effect.js"),
    bundle: true,
    // Do not bundle Effect: two copies of it in one program do not work together.
    external: ["effect"],
    plugins: [overPromiseClient],
    platform: "neutral",
    format: "esm",
    target: "es2022",
    define,
    logLevel: "warning",
  })
}
