/** Tests the client in a real browser, with the page and the service on different origins. */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { isMissing, visit } from "../support/Browser.ts"
import { consumer } from "../support/Package.ts"
import { folder, json, openAccount, serve } from "../support/Program.ts"
import { listen } from "../../scripts/support/listen.ts"

const files: Readonly<Record<string, string>> = {
  "/": `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`,
  "/page.js": `import * as client from "/client.js"\nglobalThis.client = client`,
}

/** A site whose page imports the built client. */
const site = Effect.gen(function* () {
  const installed = join(yield* consumer, "node_modules/authority-metrics-client")
  const client = readFileSync(join(installed, "client.js"), "utf8")
  const server = createServer(({ url = "" }, response) => {
    const content = url === "/client.js" ? client : files[url]
    const type = url === "/" ? "text/html" : "text/javascript"
    response.writeHead(content === undefined ? 404 : 200, { "content-type": type }).end(content)
  })
  return yield* listen(server)
})

/**
 * Opens the site's page. `evaluate` evaluates an expression there; `isAllowed` allows its origin.
 */
const opened = (credits: number, isAllowed: boolean) =>
  Effect.gen(function* () {
    const origin = yield* site
    const cwd = yield* folder
    const { key } = yield* openAccount(cwd, credits)
    const { url } = yield* serve(cwd, isAllowed ? { AUTHORITY_CORS_ORIGINS: origin } : {})
    const { page } = yield* visit(origin, "/", { service: url })
    yield* Effect.promise(() => page.waitForFunction("globalThis.client !== undefined"))
    const evaluate = (expression: string) =>
      Effect.map(
        Effect.promise(() =>
          page.evaluate(`(async () => {
            const service = client.AuthorityMetrics({ baseUrl: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(key)}, patienceMs: 3000 })
            return JSON.stringify(await (${expression}))
          })()`),
        ),
        (text): unknown => JSON.parse(String(text)),
      )
    return { cwd, evaluate }
  })

describe.skipIf(isMissing)("the client in a browser", () => {
  it.scopedLive(
    "in a web page of an allowed origin, the client checks a list, and each kind of failure throws its own error class",
    () =>
      Effect.gen(function* () {
        const { cwd, evaluate } = yield* opened(100, true)
        const urls = JSON.stringify([
          ...Array.from({ length: 69 }, (_, index) => `site-${index}.com`),
          "localhost",
        ])
        const results = `Array.fromAsync(service.checkAll(${urls}))`
        const outcomes = `${results}.then((all) => all.flatMap((one) => one.outcomes))`
        const count =
          "(all) => [all.length, all.filter((one) => 'reason' in one).length, all[0].url]"
        assert.deepStrictEqual(yield* evaluate(`${outcomes}.then(${count})`), [70, 1, "site-0.com"])
        assert.strictEqual(yield* evaluate("service.availableCredits()"), 31)

        const again = `service.check(["site-0.com"], { idempotencyKey: "once" })`
        const replays = `${again}.then(async (one) => [one, await ${again}])`
        const isReplay = `${replays}.then((both) => both.map((one) => one.isReplay))`
        assert.deepStrictEqual(yield* evaluate(isReplay), [false, true])

        const refused = `service.check(${JSON.stringify(
          Array.from({ length: 40 }, (_, index) => `other-${index}.com`),
        )}).catch((error) => [error instanceof client.InsufficientCredits, error.status, typeof error.requestId])`
        assert.deepStrictEqual(yield* evaluate(refused), [true, 402, "string"])

        const stopped = `service.check(["slow.example.com"], { signal: AbortSignal.timeout(200) }).catch((error) => error.name)`
        assert.strictEqual(yield* evaluate(stopped), "TimeoutError")
        const { charged } = yield* json(cwd, "credits", "balance", "--account", "acme")
        assert.strictEqual(charged, 70)
      }),
  )

  it.scopedLive(
    "the client in a browser cannot reach the service from an origin that is not allowed",
    () =>
      Effect.gen(function* () {
        const { evaluate } = yield* opened(1, false)
        const refused =
          "service.availableCredits().catch((error) => error instanceof client.ConnectionFailed)"
        assert.strictEqual(yield* evaluate(refused), true)
      }),
  )
})
