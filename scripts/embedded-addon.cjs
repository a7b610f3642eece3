/**
 * Stands in for SQLite's addon inside the executable. The system loads libraries from files only,
 * so the addon is written to one for as long as that takes.
 */
const { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } = require("node:fs")
const { tmpdir } = require("node:os")
const { join } = require("node:path")
const { getRawAsset } = require("node:sea")

const prefix = "authority-addon-"

// Windows keeps a loaded file from being deleted, so the next start deletes it there; the youngest
// may be about to be loaded.
if (process.platform === "win32") {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))) {
    try {
      const folder = join(tmpdir(), name)
      if (statSync(folder).mtimeMs < Date.now() - 60_000) rmSync(folder, { recursive: true })
    } catch {
      // Another process uses it.
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), prefix))
try {
  const file = join(folder, "sqlite.node")
  writeFileSync(file, new Uint8Array(getRawAsset("sqlite.node")))
  process.dlopen(module, file)
} finally {
  if (process.platform !== "win32") rmSync(folder, { recursive: true, force: true })
}
