/**
 * Loads SQLite's addon inside the executable. The operating system loads libraries only from files,
 * so the addon is written to a temporary file, which is deleted after loading.
 */
const { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } = require("node:fs")
const { tmpdir } = require("node:os")
const { join } = require("node:path")
const { getRawAsset } = require("node:sea")

const prefix = "authority-addon-"

// Windows cannot delete a loaded file, so the next start deletes it. Files younger than a minute
// stay, because another process may be about to load them.
if (process.platform === "win32") {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))) {
    try {
      const folder = join(tmpdir(), name)
      if (statSync(folder).mtimeMs < Date.now() - 60_000) rmSync(folder, { recursive: true })
    } catch {
      // Another process is using the file.
    }
  }
}

let folder
try {
  folder = mkdtempSync(join(tmpdir(), prefix))
  const file = join(folder, "sqlite.node")
  writeFileSync(file, new Uint8Array(getRawAsset("sqlite.node")))
  process.dlopen(module, file)
} catch (cause) {
  throw new Error(
    `the executable cannot load SQLite from the folder ${tmpdir()}: set TMPDIR to a folder where this user may write and run files (${cause.message})`,
  )
} finally {
  if (folder !== undefined && process.platform !== "win32") {
    rmSync(folder, { recursive: true, force: true })
  }
}
