/** A visit to the pages in a real browser, and what may go wrong unseen in one. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, inject } from "@effect/vitest"
import axe from "axe-core"
import * as Effect from "effect/Effect"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"

const executablePath = inject("chromium")

/** Where there is no browser the tests are left out, and the run says so. */
export const isMissing = executablePath === ""

/** Git-ignored; kept for people to look at. */
const screens = join(import.meta.dirname, "../../dist/screens")

let browser: Browser | undefined

beforeAll(async () => {
  if (isMissing) return
  mkdirSync(screens, { recursive: true })
  browser = await chromium.launch({
    executablePath,
    // Chromium's own sandbox refuses to run as root, as which containers do.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  })
})

afterAll(() => browser?.close())

export interface Visit {
  readonly page: Page
  /** A promise of the browser's as an effect. */
  readonly act: <A>(action: (page: Page) => Promise<A>) => Effect.Effect<A>
  /** Fails on anything that axe finds, in each theme. */
  readonly examine: (state: string) => Effect.Effect<void>
}

/**
 * Opens a page; at the end of the scope the visit fails if the page has logged an error, broken its
 * policy, shown a dialog or asked anybody for anything but where it is from, and the `service`.
 */
export const visit = (
  url: string,
  path: string,
  { service = url, ...options }: BrowserContextOptions & { readonly service?: string } = {},
) =>
  Effect.gen(function* () {
    const complaints: Array<string> = []
    const context = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        assert(browser !== undefined)
        return browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      }),
      (context) =>
        Effect.promise(async () => {
          await context.close()
          assert.deepStrictEqual(complaints, [])
        }),
    )
    const page = yield* Effect.promise(() => context.newPage())
    page.setDefaultTimeout(20_000)
    page.on("pageerror", (error) => complaints.push(String(error)))
    page.on("dialog", (dialog) => {
      complaints.push(dialog.message())
      void dialog.dismiss()
    })
    page.on("console", (message) => {
      // The browser logs every answer that is no success or not for the page: those are what is tested.
      const isAnswer = [message.location().url, message.text()].some((said) =>
        said.includes(`${service}/v1/`),
      )
      if (message.type() !== "log" && !isAnswer) complaints.push(message.text())
    })
    page.on("request", (request) => {
      const isOurs = [url, service].some((ours) => request.url().startsWith(`${ours}/`))
      if (!isOurs && !/^(data|blob):/.test(request.url())) complaints.push(request.url())
    })
    yield* Effect.promise(() => page.goto(url + path))
    const act: Visit["act"] = (action) => Effect.promise(() => action(page))
    return { page, act, examine: (state) => act((page) => examine(page, state)) } satisfies Visit
  })

const examine = async (page: Page, state: string) => {
  const name = state.replaceAll(/\W+/g, "-")
  for (const [colorScheme, rules] of [
    ["light", ""],
    // All else is as it was.
    ["dark", '{ runOnly: ["color-contrast"] }'],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    // Not as a script of the page, for its policy would not let it in.
    await page.evaluate(axe.source)
    const found: axe.AxeResults = await page.evaluate(`axe.run(${rules})`)
    assert.deepStrictEqual(
      found.violations.map(({ help, nodes }) => `${help}: ${nodes.map(({ html }) => html).join()}`),
      [],
      `${state}, ${colorScheme}`,
    )
    await page.screenshot({ path: join(screens, `${name}-${colorScheme}.png`) })
  }
}
