/** Writes `dist/pages.json`, where the program finds its pages when it runs from its sources. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const dist = join(import.meta.dirname, "../dist")

try {
  const { makePages } = await import("./pages.ts")
  const pages = await makePages()
  mkdirSync(dist, { recursive: true })
  writeFileSync(join(dist, "pages.json"), JSON.stringify(pages))
} catch (error) {
  // The service itself needs no development dependencies, and starts without its pages.
  if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) {
    throw error
  }
  console.error(
    "authority: /console and /docs were not built, which takes the development dependencies",
  )
}
