/**
 * Builds, in `dist`, the packages that other projects install: one with the clients, the service and
 * their types, and one with the clients alone.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"
import { bundleClient, clientEntries } from "./bundle-client.ts"
import { bundleClientPackage } from "./bundle-client-package.ts"
import { bundleServer, files, serverEntries } from "./bundle-server.ts"
import { writePages } from "./pages.ts"
import { writeTypes } from "./package-types.ts"

/**
 * Writes the package to `dist`, and the client's package to a folder of it. `npm pack FOLDER` makes
 * an archive.
 */
export const bundlePackage = async (dist: string) => {
  await bundleClient(dist)
  await bundleServer(dist)
  await writePages()
  writeTypes(dist, [...Object.values(clientEntries), ...Object.values(serverEntries)])
  writeFileSync(join(dist, "README.md"), readme)
  cpSync(join(root, "LICENSE"), join(dist, "LICENSE"))
  mkdirSync(join(dist, "provider"), { recursive: true })
  for (const name of ["openapi.json", "example.mjs"]) {
    cpSync(join(root, "scripts/http-provider", name), join(dist, "provider", name))
  }
  writeFileSync(
    join(dist, "package.json"),
    `${JSON.stringify(packageOf(manifest), undefined, 2)}\n`,
  )
  bundleClientPackage(dist, guide)
}

/** The guide's page about the clients up to its section "Long lists", which is about the CLI. */
const guide = (() => {
  const page = readFileSync(join(root, "src/pages/guide/client.md"), "utf8")
  return page.slice(page.indexOf("\n## ")).split("\n## Long lists")[0] ?? ""
})()

const summary =
  "The typed client of the service authority-metrics. The entries `authority-metrics/server`, " +
  "`authority-metrics/provider` and `authority-metrics/testing` run the service itself in a " +
  "program or a test of your own, on Node 22.14 or newer and Deno."

/** The examples of the guide import the client's own package. */
const readme = `# authority-metrics\n\n${summary}\n${guide.replaceAll('"authority-metrics-client', '"authority-metrics/client')}`

const packageOf = ({
  dependencies,
  engines,
  exports,
  license,
  name,
  overrides,
  version,
}: typeof manifest) => ({
  name,
  version,
  description: "The clients of authority-metrics, and the service for programs of your own.",
  license,
  type: "module",
  sideEffects: ["./server.js", "./testing.js", "./chunks/*"],
  // Node 20 is enough for the clients. The service needs a newer Node: when it is imported on an
  // older Node, it prints the required version and ends the process.
  engines,
  exports: JSON.parse(JSON.stringify(exports).replaceAll("./dist/", "./")),
  files: ["client.js", "client-effect.js", ...files, "pages", "provider", "types"],
  // Effect is a peer dependency, because the application and this package must share one copy. npm
  // installs a missing peer and refuses a wrong version.
  peerDependencies: {
    "@effect/platform": `^${dependencies["@effect/platform"]}`,
    effect: `^${dependencies.effect}`,
  },
  // The version is exact, because the service is tested only with this version.
  dependencies: { "better-sqlite3": overrides["better-sqlite3"] },
})
