/**
 * Finds the browser for the tests: the path in `CHROMIUM`, or Debian's paths. Without a browser the
 * run reports the skipped tests. With `REQUIRE_BROWSER` set, the run fails.
 */
import { existsSync } from "node:fs"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the browser, or an empty string when there is none. */
    readonly chromium: string
  }
}

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

export default function setup(project: TestProject) {
  const path = [process.env["CHROMIUM"] ?? "", ...places].find(existsSync) ?? ""
  project.provide("chromium", path)
  if (path !== "") return
  const missing = "no Chromium was found: install it, or name it in CHROMIUM"
  if (process.env["REQUIRE_BROWSER"] !== undefined) throw new Error(missing)
  const say = () =>
    console.error(`\nNOT DONE: the pages were not tested in a browser, because ${missing}.\n`)
  say()
  // Report the skipped tests again at the end of the run.
  return say
}
