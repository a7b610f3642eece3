/** Tests the page of a customer's own usage in a real browser. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { isMissing, visit } from "../support/Browser.ts"
import { downloaded, enter, timeout } from "../support/ConsolePage.ts"
import { start } from "../support/TestServer.ts"
import { postBatch } from "../../scripts/support/postBatch.ts"

describe.skipIf(isMissing)("the customer's usage", () => {
  it.scopedLive(
    "who holds a key sees what its account used, by day, by key and entry by entry",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* start({ credits: 1000 })
        yield* Effect.promise(() => postBatch(url, key, ["a.com", "b.com", "localhost"]))
        const { act, examine } = yield* visit(url, "/console#usage")
        yield* act((page) => enter(page, key))
        yield* act((page) => page.getByRole("heading", { name: "Usage of acme" }).waitFor())
        const table = (name: string) =>
          act((page) => page.getByRole("group", { name, exact: true }).innerText())
        yield* act((page) => page.getByRole("heading", { name: "Last 30 days" }).waitFor())
        assert.match(yield* table("By key"), /this key\s+2\s+2\s+0\s+1/)
        assert.match(yield* table("Statement"), /charge\s+\S*2\s+998\s+2\s+\S+/)
        yield* examine("usage")
        const file = yield* act((page) => downloaded(page, "CSV of Statement"))
        assert.match(file.text, /grant,1000,1000,/)
        yield* act((page) => page.setViewportSize({ width: 390, height: 800 }))
        const width = yield* act((page) =>
          page.evaluate<number>("document.documentElement.scrollWidth"),
        )
        assert.isAtMost(width, 390)
      }),
    timeout,
  )
})
