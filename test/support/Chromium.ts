/**
 * The browser for the tests of the pages: `CHROMIUM` names it, or it is where Debian puts it.
 * Without one the run says plainly what it did not do; with `REQUIRE_BROWSER` set it fails.
 */
import { existsSync } from "node:fs"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of the browser; empty where there is none. */
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
    console.error(`\nNOT DONE: the pages were not tested in a browser, for ${missing}.\n`)
  say()
  // Again at the end, where people look.
  return say
}
