/**
 * Tests the program in a network whose only way out is a proxy with the company's own certificates.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CompanyProxy from "../support/CompanyProxy.ts"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { request } from "../support/RawHttp.ts"
import { folder, openAccount, run, serve } from "../support/Program.ts"
import { batch, start } from "../support/TestServer.ts"

const network = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => CompanyProxy.start(url)),
    ({ stop }) => Effect.sync(stop),
  )

describe("a program behind a company's proxy", () => {
  it.scopedLive("authority check reaches the service through HTTPS_PROXY", () =>
    Effect.gen(function* () {
      const service = yield* start({ credits: 10 })
      const { asked, settings } = yield* network(service.url)
      const cwd = yield* folder
      writeFileSync(join(cwd, "list.txt"), "example.com\n")
      const own = { AUTHORITY_API_KEY: service.key, AUTHORITY_URL: "https://service.test" }
      const check = (more: Record<string, string>) =>
        run(cwd, ["check", "list.txt"], { ...own, ...more })

      const direct = yield* check({ ...settings, NO_PROXY: "other.test,service.test" })
      assert.strictEqual(direct.code, 1)
      assert.match(direct.stderr, /No connection to the service: getaddrinfo/)
      assert.deepStrictEqual(asked, [])

      const untrusted = yield* check({ HTTPS_PROXY: settings.HTTPS_PROXY })
      assert.strictEqual(untrusted.code, 1)
      assert.match(untrusted.stderr, /certificate/)

      const done = yield* check(settings)
      assert.strictEqual(done.code, 0, done.stderr)
      assert.deepStrictEqual([...new Set(asked)], ["service.test:443"])
      assert.strictEqual((yield* service.books).charged, 1)

      const wrong = yield* check({ HTTPS_PROXY: "nonsense" })
      assert.strictEqual(wrong.code, 1)
      assert.match(wrong.stderr, /^authority: HTTPS_PROXY: expected an address [^\n]+\n$/)
    }),
  )

  it.scopedLive("the service reaches its vendor through HTTPS_PROXY", () =>
    Effect.gen(function* () {
      const moz = yield* FakeMoz.make
      const { asked, settings } = yield* network(moz.url)
      const cwd = yield* folder
      const { key } = yield* openAccount(cwd, 10)
      const vendor = FakeMoz.settings("https://vendor.test/jsonrpc")
      const server = yield* serve(cwd, { ...vendor, ...settings })
      const { text } = yield* request(server.url, batch(key, '{"urls":["example.com"]}'))
      assert.deepInclude(JSON.parse(text).quota, { creditsUsed: 1 })
      assert.include(asked, "vendor.test:443")
      assert.isAbove(moz.calls.length, 0)
    }),
  )
})
