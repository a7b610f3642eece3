/**
 * Checks that the fast path can be deleted: in a copy, deletes `src/express` and the line that loads
 * it, type-checks `src`, and runs the tests of the router.
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"

const root = join(import.meta.dirname, "..")
const left = new Set([
  ".git",
  "dist",
  "node_modules",
  "test/full/node_modules",
  "src/express",
  "test/express",
])

const copy = mkdtempSync(join(tmpdir(), "authority-without-express-"))
const run = (command: string, ...args: ReadonlyArray<string>) =>
  execFileSync(command, args, { cwd: copy, stdio: "inherit" })

try {
  cpSync(root, copy, { recursive: true, filter: (path) => !left.has(relative(root, path)) })
  for (const modules of ["node_modules", "test/full/node_modules"]) {
    symlinkSync(join(root, modules), join(copy, modules))
  }

  const composition = join(copy, "src/server/Composition.ts")
  const lines = readFileSync(composition, "utf8").split("\n")
  const others = lines.filter((line) => !line.includes("../express/"))
  assert.equal(others.length, lines.length - 1, "one line loads the fast path")
  writeFileSync(composition, others.join("\n"))

  const config = { extends: "./tsconfig.json", include: ["src"], exclude: ["src/pages"] }
  writeFileSync(join(copy, "tsconfig.src.json"), JSON.stringify(config))
  run("npx", "tsc", "--noEmit", "-p", "tsconfig.src.json")
  run("npm", "run", "test:router")
} finally {
  rmSync(copy, { recursive: true })
}
