/**
 * Builds the package `authority-metrics-client` from the clients of the package `authority-metrics`.
 * It has no dependency, so that a program which only calls the service installs one package.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"
import { clientEntries } from "./bundle-client.ts"
import { copyTypes } from "./package-types.ts"

const name = "authority-metrics-client"

/** Where the package is made; `npm pack` packs this folder. */
export const clientPackage = (dist: string) => join(dist, name)

/** Writes the package to a folder of `dist`, which has the clients and their types already. */
export const bundleClientPackage = (dist: string, guide: string) => {
  const folder = clientPackage(dist)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const client of Object.keys(clientEntries)) {
    cpSync(join(dist, `${client}.js`), join(folder, `${client}.js`))
  }
  copyTypes(join(dist, "types"), join(folder, "types"), Object.values(clientEntries))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  writeFileSync(join(folder, "README.md"), `# ${name}\n\n${summary}\n${guide}`)
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, undefined, 2)}\n`)
}

const summary = "The typed client of the service authority-metrics. It has no dependency."

const entry = (file: string, types: string) => ({
  types: `./types/src/client/${types}.d.ts`,
  default: `./${file}.js`,
})

const description = {
  name,
  version: manifest.version,
  description: "The typed client of the service authority-metrics.",
  license: manifest.license,
  type: "module",
  sideEffects: false,
  engines: manifest.engines,
  exports: {
    ".": entry("client", "PromiseClient"),
    "./effect": entry("client-effect", "EffectClient"),
  },
  files: [...Object.keys(clientEntries).map((client) => `${client}.js`), "types"],
  // Only the entry `./effect` needs Effect. npm does not install an optional peer.
  peerDependencies: { effect: `^${manifest.dependencies.effect}` },
  peerDependenciesMeta: { effect: { optional: true } },
}
