/**
 * Prints the size of the code: lines of TypeScript without comments and blank lines, lines of
 * comments, functions of `src` above 70 lines, and direct dependencies.
 *
 *     npm run measure:code
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { root } from "./bundle.ts"
import { linesOf } from "./code-lines.ts"

const maxLines = 70

const sizeOf = (...folders: ReadonlyArray<string>) => {
  const texts = folders
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }))
    .map((file) => linesOf(readFileSync(join(root, file), "utf8")))
  const sum = (kind: "code" | "comments") =>
    texts.reduce((total, counts) => total + counts[kind], 0)
  return { code: sum("code"), comments: sum("comments") }
}

/** Lists the functions of `src` above `maxLines`, one line each, as the linter prints them. */
const longFunctions = (): ReadonlyArray<string> => {
  const folder = mkdtempSync(join(tmpdir(), "authority-code-"))
  try {
    const config = join(folder, "oxlint.json")
    const rule = ["error", { max: maxLines, skipBlankLines: false, skipComments: false }]
    const rules = { "max-lines-per-function": rule }
    writeFileSync(config, JSON.stringify({ categories: { correctness: "off" }, rules }))
    const oxlint = join(root, "node_modules/.bin/oxlint")
    const { stdout } = spawnSync(oxlint, ["-c", config, "-f", "unix", "src"], {
      cwd: root,
      encoding: "utf8",
    })
    return stdout.split("\n").filter((line) => line.includes("max-lines-per-function"))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const long = longFunctions()
const src = sizeOf("src")
console.log(
  [
    `src: ${src.code} lines of code, ${src.comments} lines of comments`,
    `test and scripts: ${sizeOf("test", "scripts").code} lines of code`,
    `functions of src above ${maxLines} lines: ${long.length}`,
    ...long.map((line) => `  ${line}`),
    `direct dependencies: ${Object.keys(manifest.dependencies).length}`,
  ].join("\n"),
)
