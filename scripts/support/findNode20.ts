/**
 * Finds Node 20, the oldest version that the client supports: on this machine, or else in npm's
 * registry.
 */
import { execFileSync } from "node:child_process"
import { delimiter, join } from "node:path"

const version = "20.20.2"

const versionOf = (program: string) => {
  try {
    return execFileSync(program, ["--version"], { encoding: "utf8", stdio: "pipe" })
  } catch {
    return ""
  }
}

/** npm puts the project's own Node first in PATH, so every folder in PATH is tried. */
const own = () =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find((program) => versionOf(program).startsWith("v20."))

/** Throws when there is no Node 20 here and none can be downloaded. */
const downloaded = () => {
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
  const printed = ["-p", "process.execPath"]
  const npx = ["--yes", `--package=${name}@${version}`, "--", "node", ...printed]
  const isWindows = process.platform === "win32"
  return execFileSync("npx", npx, { encoding: "utf8", shell: isWindows }).trim()
}

export const node20 = (): string => {
  const program = own() ?? downloaded()
  const found = versionOf(program)
  if (!found.startsWith("v20.")) throw new Error(`This test needs Node 20, not "${found}".`)
  return program
}
