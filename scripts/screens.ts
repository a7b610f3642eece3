/**
 * Takes the pictures of the README from the real program, in Debian's Chromium or the one that
 * CHROMIUM names: `npm run screens` writes them to scripts/screens.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { type Browser, chromium } from "playwright-core"

const root = join(import.meta.dirname, "..")

interface Program {
  readonly url: string
  readonly key: string
}

const list = [
  "w3.org",
  "https://www.w3.org/TR/",
  "ietf.org",
  "https://www.rfc-editor.org/rfc/rfc9110",
  "iana.org",
  "unicode.org",
  "debian.org",
  "https://www.debian.org/doc/",
  "python.org",
  "nodejs.org",
  "https://nodejs.org/en/about",
  "postgresql.org",
  "sqlite.org",
  "https://sqlite.org/lang.html",
  "mozilla.org",
  "https://developer.mozilla.org/en-US/docs/Web",
  "wikipedia.org",
  "https://www.wikipedia.org/wiki/Domain",
  "archive.org",
  "gnu.org",
  "kernel.org",
  "localhost",
  "provider-error.example.com",
  ...Array.from({ length: 140 }, (_, index) => `https://example-${index + 1}.org/about`),
]

/** The console with a finished run, in both themes. */
const takeConsole = async (browser: Browser, { key, url }: Program) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme })
    await page.goto(`${url}/console`)
    await page.getByLabel("API key").fill(key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByText("credits available").waitFor()
    await page.getByLabel("Domains or pages").fill(list.join("\n"))
    await page.getByRole("button", { name: /^Check \d+/ }).click()
    await page.getByRole("heading", { name: /^Done/ }).waitFor()
    await page.evaluate(
      "document.activeElement.blur(); document.getElementById('list').scrollTop = 0",
    )
    await page.screenshot({
      path: join(import.meta.dirname, `screens/console-${colorScheme}.png`),
      animations: "disabled",
    })
    await page.close()
  }
}

const pictures = [takeConsole]

const folder = mkdtempSync(join(tmpdir(), "authority-screens-"))
const child = spawn(process.execPath, [join(root, "src/main.ts"), "serve", "--json"], {
  cwd: folder,
  env: { AUTHORITY_PORT: "0" },
  stdio: ["ignore", "pipe", "ignore"],
})
try {
  const [line] = await once(createInterface(child.stdout), "line", {
    signal: AbortSignal.timeout(60_000),
  })
  const { demoKey: key, url } = JSON.parse(line)
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  })
  for (const take of pictures) await take(browser, { key, url })
  await browser.close()
} finally {
  child.kill("SIGTERM")
  await once(child, "exit")
  rmSync(folder, { recursive: true })
}
