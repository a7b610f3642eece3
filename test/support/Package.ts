/** Installs the package into another project, with the client that the run has built. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
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
    for (const name of ["client.js", "client-effect.js", "types", "package.json"]) {
      cpSync(join(root, "dist", name), join(installed, name), { recursive: true })
    }
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)
