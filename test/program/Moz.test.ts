/** The program with a fake Moz on a real port. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeMoz from "../../scripts/support/FakeMoz.ts"
import { books, folder, openAccount, serve } from "../support/Program.ts"
import { batch } from "../support/TestServer.ts"
import { request } from "../support/RawHttp.ts"

it.scopedLive(
  "with the Moz provider, a batch of 50 valid and invalid URLs is charged only for successes, and the answer keeps the order of the request",
  () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const moz = yield* FakeMoz.make
      const { key } = yield* openAccount(cwd, 100)
      const server = yield* serve(cwd, FakeMoz.settings(moz.url))
      const urls = Array.from({ length: 50 }, (_, i) =>
        i % 5 === 0
          ? `localhost${i}`
          : i % 7 === 0
            ? "https://same.example.com/"
            : `h${i}.example.com/p?q=${i}`,
      )
      const { text } = yield* request(server.url, batch(key, JSON.stringify({ urls })))
      const { data, quota } = JSON.parse(text)
      const ok = data.successUrls.map(({ url }: { readonly url: string }) => url)
      const bad = data.failedUrls.map(({ url }: { readonly url: string }) => url)
      assert.deepStrictEqual(
        ok,
        urls.filter((u) => !u.startsWith("localhost")),
      )
      assert.deepStrictEqual(
        bad,
        urls.filter((u) => u.startsWith("localhost")),
      )
      assert.strictEqual(quota.creditsUsed, 40)
      const balance = yield* books(cwd)
      assert.deepStrictEqual([balance.charged, balance.held], [40, 0])
      assert.strictEqual(moz.calls.length, 1)
    }),
  60_000,
)
