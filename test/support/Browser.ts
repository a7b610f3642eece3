/** Opens pages in a real browser, and fails on errors that a test would otherwise miss. */
import { afterAll, assert, beforeAll, inject, it } from "@effect/vitest"
import axe from "axe-core"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"

const executablePath = inject("chromium")

/** True if there is no browser. The tests are then skipped, and the run reports that. */
export const isMissing = executablePath === ""

let browser: Browser | undefined

beforeAll(async () => {
  if (isMissing) return
  browser = await chromium.launch({
    executablePath,
    // Chromium's sandbox does not run as root, and containers often run as root.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  })
})

afterAll(() => browser?.close())

/**
 * Opens a page. At the end of the scope it fails if the page has logged an error, violated its
 * policy, shown a dialog, or sent a request to a host other than its own and `service`.
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
        return browser.newContext({
          viewport: { width: 1280, height: 900 },
          reducedMotion: "reduce",
          ...options,
        })
      }),
      (context) =>
        Effect.promise(async () => {
          await context.close()
          assert.deepStrictEqual(complaints, [])
        }),
    )
    const page = yield* Effect.promise(() => context.newPage())
    page.setDefaultTimeout(60_000)
    page.on("pageerror", (error) => complaints.push(String(error)))
    page.on("dialog", (dialog) => {
      complaints.push(dialog.message())
      void dialog.dismiss()
    })
    page.on("console", (message) => {
      // The browser logs each error response to its console. Some tests provoke such responses, so
      // they are not complaints.
      const isAnswer = [message.location().url, message.text()].some((text) =>
        [`${service}/v1/`, `${service}/admin/`].some((paths) => text.includes(paths)),
      )
      if (/^(error|warning)$/.test(message.type()) && !isAnswer) complaints.push(message.text())
    })
    page.on("request", (request) => {
      const isOurs = [url, service].some((ours) => request.url().startsWith(`${ours}/`))
      if (!isOurs && !/^(data|blob):/.test(request.url())) complaints.push(request.url())
    })
    yield* Effect.promise(() => page.goto(url + path))
    return { page, examine: (state: string) => examine(page, state) }
  })

export type Run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Promise<A>

/**
 * A test whose body controls pages with promises. `run` runs an effect, whose resources are
 * released at the end of the test.
 */
export const browserTest = (name: string, body: (run: Run) => Promise<unknown>) =>
  it.scopedLive(name, () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime<Scope.Scope>()
      yield* Effect.promise(() => body(Runtime.runPromise(runtime)))
    }),
  )

/** Presses buttons with the keyboard, and waits for an element to get the focus. */
export const keyboardOf = (page: Page) => ({
  press: (name: string | RegExp) => page.getByRole("button", { name }).first().press("Enter"),
  hasFocus: (element: string, text: string) =>
    page.locator(`${element}:focus`, { hasText: text }).waitFor(),
})

/** Examine only some rows of a long table: they are alike, and axe needs milliseconds for each. */
const elements = '{ exclude: ["tbody tr:nth-child(n + 20)"] }'

const light = ["light", '{ resultTypes: ["violations"] }'] as const

/** The dark theme differs in its colours only. */
const dark = ["dark", '{ resultTypes: ["violations"], runOnly: ["color-contrast"] }'] as const

/** Examine the dark theme only with `THOROUGH`, because that takes as long as the light theme. */
const themes = process.env["THOROUGH"] === undefined ? [light] : [light, dark]

/** Fails if a text has too little contrast in either theme. For pages whose HTML is not ours. */
export const examineContrast = (page: Page) => examine(page, "contrast", [["light", dark[1]], dark])

/** Fails on any accessibility problem that axe finds. */
const examine = async (
  page: Page,
  state: string,
  wanted: ReadonlyArray<readonly ["light" | "dark", string]> = themes,
) => {
  // Unlike a script element, `evaluate` can run axe despite the page's security policy.
  await page.evaluate(axe.source)
  for (const [colorScheme, rules] of wanted) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    const found: axe.AxeResults = await page.evaluate(`axe.run(${elements}, ${rules})`)
    assert.deepStrictEqual(
      found.violations.map(({ help, nodes }) => `${help}: ${nodes.map(({ html }) => html).join()}`),
      [],
      `${state}, ${colorScheme}`,
    )
  }
}
