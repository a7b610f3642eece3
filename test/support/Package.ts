/** Installs the packages that the run has built, packed by npm, in another project. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { clientPackage } from "../../scripts/bundle-package.ts"
import { dist, root } from "../../scripts/bundle.ts"

/** A temporary project folder that depends on the client package, the whole package and Effect. */
export const consumer = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "authority-test-consumer-"))
    const modules = join(folder, "node_modules")
    mkdirSync(modules)
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
    for (const name of ["effect", "@effect", "@types"]) {
      symlinkSync(join(root, "node_modules", name), join(modules, name), "junction")
    }
    install(folder, clientPackage(dist))
    install(folder, dist)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)

const install = (folder: string, source: string) => {
  const pack = ["pack", source, "--silent", "--pack-destination", folder]
  const shell = process.platform === "win32"
  const archive = execFileSync("npm", pack, { encoding: "utf8", shell }).trim()
  const installed = join(folder, "node_modules", archive.replace(/-\d.*$/, ""))
  mkdirSync(installed)
  const unpack = ["-xzf", join(folder, archive), "-C", installed, "--strip-components=1"]
  execFileSync("tar", unpack)
}
