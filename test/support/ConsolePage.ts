/** Helpers that use the console as a person does in a browser. */
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"

export const sites = (count: number) =>
  Array.from({ length: count }, (_, index) => `site-${index}.com`)

/** The addresses that fail, each with the reason that the console shows. */
export const failing = {
  localhost: "Not a public web address",
  "ftp://files.example.com": "Not a public web address",
  "not-a-url": "Not a public web address",
  "provider-error.example.com": "No figures from the provider",
  "server-error.example.com": "The service failed",
}
export const mixed = [...sites(115), ...Object.keys(failing)]

export const enter = async (page: Page, key: string) => {
  await page.getByLabel("API key").fill(key)
  await page.getByRole("button", { name: "Use this key" }).click()
}

/** Opens the list, which is folded once a check has started. */
export const edit = async (page: Page) => {
  const button = page.getByRole("button", { name: "Edit list" })
  if (await button.isVisible()) await button.click()
}

/** Opens the details of the key in the header. */
export const openKey = async (page: Page) => {
  const button = page.locator(".key")
  if ((await button.getAttribute("aria-expanded")) === "false") await button.click()
}

/** Enters a key and waits until the service has accepted it. No run can start before that. */
export const useKey = async (page: Page, key: string) => {
  await enter(page, key)
  await page.getByText("credits available").waitFor()
}

export const paste = async (page: Page, urls: ReadonlyArray<string>) => {
  await edit(page)
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(urls.join("\n"))})`)
  await page.getByLabel("Domains or pages, one per line").focus()
  await page.keyboard.press("Control+V")
}

export const start = (page: Page) =>
  page.getByRole("button", { name: /^Check [\d,]+ address/ }).click()

export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole("heading", { name }).waitFor()

export const gone = { state: "detached" } as const

export const tally = (page: Page) => page.locator(".tally dd").allInnerTexts()

export const widthOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth")

/** Returns the addresses in the table, from top to bottom. */
export const shown = (page: Page) => page.locator("td.url .address").allTextContents()

/** Clicks the button, and returns the name and the text of the downloaded file. */
export const downloaded = async (page: Page, name: string | RegExp) => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name }).click(),
  ])
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") }
}

export const batches = "**/v1/metrics/da-pa/batch"

/** Lets the first `passing` batches through. Later batches wait until `open` is called. */
export const gate = async (page: Page, passing: number) => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  let passed = 0
  await page.route(batches, async (route) => {
    if (++passed > passing) await opened
    await route.continue()
  })
  return { open }
}
