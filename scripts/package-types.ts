/** Writes the TypeScript declarations (`.d.ts` files) of the npm package. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { root } from "./bundle.ts"

/**
 * The TypeScript projects of the package. The clients have their own project, because they must run
 * in browsers and on Node 20.
 */
const projects = ["scripts/client-types.json", "scripts/server-types.json"]

/**
 * Writes to `dist/types` the declarations of the given sources and of all files that these sources
 * import.
 */
export const writeTypes = (dist: string, sources: ReadonlyArray<string>) => {
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

/** Copies from the declarations in `types` those of the given sources, and all that they import. */
export const copyTypes = (types: string, to: string, sources: ReadonlyArray<string>) => {
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
