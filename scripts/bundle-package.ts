/**
 * Builds, in `dist`, the packages that other projects install. `authority-metrics` has the clients,
 * the service and their types. `authority-metrics-client` has the clients alone and no dependency,
 * so that a program which only calls the service installs one package.
 */
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, relative } from "node:path"
import { build, type Plugin } from "esbuild"
import manifest from "../package.json" with { type: "json" }
import { definitions, root } from "./bundle.ts"
import { writePages } from "./pages.ts"

/**
 * Writes the package to `dist`, and the client package to a folder inside it. `npm pack FOLDER`
 * makes an archive of either.
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

/** The guide's examples import the client package; in this readme they import `/client`. */
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

const clientEntries = {
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
const bundleClient = async (dist: string) => {
  const options = {
    absWorkingDir: root,
    bundle: true,
    format: "esm",
    target: "es2022",
    define: { VERSION: JSON.stringify(manifest.version) },
    logLevel: "warning",
  } as const
  await build({
    ...options,
    entryPoints: [clientEntries.client],
    outfile: join(dist, "client.js"),
    platform: "browser",
    minify: true,
    // Node prints the line of code that threw an uncaught error, so keep lines short.
    lineLimit: 160,
    // An error that is printed shows the name of its class.
    keepNames: true,
  })
  await build({
    ...options,
    entryPoints: [clientEntries["client-effect"]],
    outfile: join(dist, "client-effect.js"),
    // Do not bundle Effect: two copies of it in one program do not work together.
    external: ["effect"],
    plugins: [overPromiseClient],
    platform: "neutral",
  })
}

/** The entry points of the package that contain the service, each with its source file. */
const serverEntries = {
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

const files = [...Object.keys(serverEntries).map((name) => `${name}.js`), "chunks"]

const bundleServer = async (dist: string) => {
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

const clientName = "authority-metrics-client"

/** The folder in which the client package is built; `npm pack` packs it. */
export const clientPackage = (dist: string) => join(dist, clientName)

/**
 * Writes the client package to a folder in `dist`, which must already contain the clients and their
 * types.
 */
const bundleClientPackage = (dist: string, guide: string) => {
  const folder = clientPackage(dist)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const client of Object.keys(clientEntries)) {
    cpSync(join(dist, `${client}.js`), join(folder, `${client}.js`))
  }
  copyTypes(join(dist, "types"), join(folder, "types"), Object.values(clientEntries))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  writeFileSync(join(folder, "README.md"), `# ${clientName}\n\n${clientSummary}\n${guide}`)
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(clientManifest, undefined, 2)}\n`)
}

const clientSummary = "The typed client of the service authority-metrics. It has no dependency."

const entry = (file: string, types: string) => ({
  types: `./types/src/client/${types}.d.ts`,
  default: `./${file}.js`,
})

const clientManifest = {
  name: clientName,
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

/**
 * The TypeScript projects of the package. The clients have their own project, because they must run
 * in browsers and on Node 20.
 */
const projects = ["scripts/client-types.json", "scripts/server-types.json"]

/**
 * Writes to `dist/types` the declarations of the given sources and of all files that these sources
 * import.
 */
const writeTypes = (dist: string, sources: ReadonlyArray<string>) => {
  const types = join(dist, "types")
  rmSync(types, { recursive: true, force: true })
  for (const project of projects) {
    const tsc = join(root, "node_modules", ".bin", "tsc")
    execFileSync(tsc, ["--project", project, "--outDir", types], {
      cwd: root,
      stdio: "inherit",
      shell: process.platform === "win32",
    })
  }
  const used = usedBy(types, sources)
  for (const entry of readdirSync(types, { recursive: true, encoding: "utf8" })) {
    const file = join(types, entry)
    if (existsSync(file) && statSync(file).isFile() && !used.has(file)) rmSync(file)
  }
}

/**
 * Copies the declarations of the given sources, and of everything that they import, from `types` to
 * `to`.
 */
const copyTypes = (types: string, to: string, sources: ReadonlyArray<string>) => {
  for (const file of usedBy(types, sources)) cpSync(file, join(to, relative(types, file)))
}

const usedBy = (types: string, sources: ReadonlyArray<string>) => {
  const used = new Set<string>()
  for (const source of sources) {
    follow(join(types, source.replace(/\.ts$/, ".d.ts")), used)
  }
  return used
}

/** Adds to `used` a file and all files that the file imports, directly or indirectly. */
const follow = (file: string, used: Set<string>) => {
  if (used.has(file)) return
  used.add(file)
  const text = readFileSync(file, "utf8")
  for (const [, path = ""] of text.matchAll(/(?:from |import\(|import )"(\.[^"]*)"/g)) {
    follow(join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts")), used)
  }
}
