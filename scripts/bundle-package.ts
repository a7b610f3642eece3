/** Builds, in `dist`, the package that other projects install: clients, service, and their types. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"
import { bundleClient, clientEntries } from "./bundle-client.ts"
import { bundleServer, files, serverEntries } from "./bundle-server.ts"
import { writePages } from "./pages.ts"
import { writeTypes } from "./package-types.ts"

/** Writes the package to `dist`. Run `npm pack` in `dist` to create the tarball. */
export const bundlePackage = async (dist: string) => {
  await bundleClient(dist)
  await bundleServer(dist)
  await writePages()
  writeTypes(dist, [...Object.values(clientEntries), ...Object.values(serverEntries)])
  writeFileSync(join(dist, "README.md"), readme())
  cpSync(join(root, "LICENSE"), join(dist, "LICENSE"))
  mkdirSync(join(dist, "provider"), { recursive: true })
  for (const name of ["openapi.json", "example.mjs"]) {
    cpSync(join(root, "scripts/http-provider", name), join(dist, "provider", name))
  }
  writeFileSync(
    join(dist, "package.json"),
    `${JSON.stringify(packageOf(manifest), undefined, 2)}\n`,
  )
}

/**
 * Returns the README of the package: a title, a summary, and the guide's page about the clients up
 * to its section "Long lists", which is about the CLI.
 */
const readme = () => {
  const guide = readFileSync(join(root, "src/pages/guide/client.md"), "utf8")
  const [about = ""] = guide.slice(guide.indexOf("\n## ")).split("\n## Long lists")
  return `# authority-metrics\n\n${summary}\n${about}`
}

const summary =
  "The typed client of the service authority-metrics. The entries `authority-metrics/server`, " +
  "`authority-metrics/provider` and `authority-metrics/testing` run the service itself in a " +
  "program or a test of your own, on Node 22.18 or newer and Deno."

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
  dependencies: {
    // The version is exact, because the service is tested only with this version.
    "better-sqlite3": overrides["better-sqlite3"],
    uuid: `^${dependencies.uuid}`,
  },
})
