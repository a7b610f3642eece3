/**
 * Writes `dist/pages.json`. The program reads its pages from this file when it runs from sources.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const dist = join(import.meta.dirname, "../dist")

try {
  const { pagesOnce } = await import("./pages.ts")
  const pages = await pagesOnce()
  mkdirSync(dist, { recursive: true })
  writeFileSync(join(dist, "pages.json"), JSON.stringify(pages))
} catch (error) {
  // The service starts without its pages, so missing development dependencies are not an error.
  if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) {
    throw error
  }
  console.error(
    "authority: /console and /docs were not built, because the development dependencies are missing",
  )
}
