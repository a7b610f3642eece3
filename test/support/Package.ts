/** Installs the package into another project: packed by npm from what the run has built. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"

const root = join(import.meta.dirname, "../..")

/** A temporary folder of a project that depends on the package. */
export const consumer = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "authority-test-consumer-"))
    const modules = join(folder, "node_modules")
    const installed = join(modules, "authority-metrics")
    mkdirSync(installed, { recursive: true })
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
    for (const name of ["effect", "@effect", "uuid", "@types"]) {
      symlinkSync(join(root, "node_modules", name), join(modules, name), "junction")
    }
    const isWindows = process.platform === "win32"
    const pack = ["pack", join(root, "dist"), "--silent", "--pack-destination", folder]
    const archive = execFileSync("npm", pack, { encoding: "utf8", shell: isWindows }).trim()
    const unpack = ["-xzf", join(folder, archive), "-C", installed, "--strip-components=1"]
    execFileSync("tar", unpack)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)
