/**
 * Takes the screenshots of the README from the real program and writes them to scripts/screens.
 * Uses Debian's Chromium, or the browser in CHROMIUM. First run `npm run build:pages`.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
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

/** Takes screenshots of the console with a finished run, in both themes. */
const takeConsole = async (browser: Browser, { key, url }: Program) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 }, colorScheme })
    await page.goto(`${url}/console`)
    await page.getByLabel("API key").fill(key)
    await page.getByRole("button", { name: "Use this key" }).click()
    await page.getByText("credits available").waitFor()
    await page.getByLabel("Domains or pages").fill(list.join("\n"))
    await page.getByRole("button", { name: /^Check \d+/ }).click()
    await page.getByRole("heading", { name: /^Done/ }).waitFor()
    // Move the pointer away, because it would make the pressed button look hovered.
    await page.mouse.move(0, 0)
    await page.evaluate("document.activeElement.blur()")
    await page.screenshot({
      path: join(import.meta.dirname, `screens/console-${colorScheme}.png`),
      animations: "disabled",
    })
    await page.close()
  }
}

/**
 * Runs a command in a terminal. Returns every drawn state of the progress bar (`drawn`), and the
 * last 100,000 characters of the output (`last`).
 */
const onTerminal = (cwd: string, key: string, ...args: ReadonlyArray<string>) => {
  const command = [process.execPath, join(root, "src/main.ts"), ...args].join(" ")
  const shown = execFileSync("script", ["-qec", `stty cols 100; ${command}`, "/dev/null"], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], TERM: "xterm", AUTHORITY_API_KEY: key },
  })
  const frames = shown.replaceAll("\r\n", "\n").split("\r\u001b[2K")
  return { drawn: frames.filter((frame) => frame.includes("░")), last: frames.join("").slice(-1e5) }
}

/**
 * Takes one screenshot of two runs of `authority check`: a short run that prints its results, and
 * the progress bar of a longer run that writes its results to a file.
 */
const takeCheck = async (browser: Browser, { key, url }: Program) => {
  const cwd = mkdtempSync(join(tmpdir(), "authority-check-"))
  try {
    writeFileSync(join(cwd, "sites.txt"), [...list.slice(0, 8), ...list.slice(21, 23)].join("\n"))
    writeFileSync(join(cwd, "clients.txt"), longList.join("\n"))
    const short = onTerminal(cwd, key, "check", "sites.txt", "--url", url)
    const long = onTerminal(cwd, key, "check", "clients.txt", "--url", url, "--output", "out.csv")
    const page = await browser.newPage({ viewport: { width: 940, height: 600 } })
    await page.setContent(terminal)
    await page
      .locator("pre")
      .evaluate(
        (element, text) => element.replaceChildren(text),
        [
          "$ authority check sites.txt",
          short.last.trimEnd(),
          "",
          "$ authority check clients.txt --output out.csv",
          long.drawn[Math.floor(long.drawn.length * 0.7)] ?? "",
        ].join("\n"),
      )
    const path = join(import.meta.dirname, "screens/check.png")
    await page.locator("pre").screenshot({ path })
    await page.close()
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

const longList = Array.from({ length: 8000 }, (_, index) => `https://client-${index + 1}.org/`)

const terminal = `<body style="margin:0"><pre style="margin:0;padding:18px 22px;width:max-content;
  font:14px/1.45 'DejaVu Sans Mono',monospace;color:#e6e6e1;background:#1d1f21"></pre>`

const pictures = [takeConsole, takeCheck]

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
  const grant = ["credits", "grant", "--account", "demo", "--amount", "20000"]
  execFileSync(process.execPath, [join(root, "src/main.ts"), ...grant], { cwd: folder, env: {} })
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
