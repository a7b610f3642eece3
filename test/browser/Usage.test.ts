/** Tests, in a real browser, the page on which customers see their own usage. */
import { assert, describe } from "@effect/vitest"
import { browserTest, isMissing, visit } from "../support/Browser.ts"
import { downloaded, enter, widthOf } from "../support/ConsolePage.ts"
import { start } from "../support/TestServer.ts"
import { postBatch } from "../../scripts/support/postBatch.ts"

describe.skipIf(isMissing)("the console's page of a customer's usage", () => {
  browserTest(
    "the holder of a key sees what its account used, by day, by key and entry by entry",
    async (run) => {
      const { key, url } = await run(start({ credits: 1000 }))
      await postBatch(url, key, ["a.com", "b.com", "localhost"])
      const { examine, page } = await run(visit(url, "/console#usage"))
      await enter(page, key)
      await page.getByRole("heading", { name: "Usage of acme" }).waitFor()
      const table = (name: string) => page.getByRole("group", { name, exact: true }).innerText()
      await page.getByRole("heading", { name: "Last 30 days" }).waitFor()
      assert.match(await table("By key"), /this key\s+2\s+2\s+0\s+1/)
      assert.match(await table("Statement"), /charge\s+\S*2\s+998\s+2\s+\S+/)
      await examine("usage")
      const file = await downloaded(page, "CSV of Statement")
      assert.match(file.text, /grant,1000,1000,/)
      await page.setViewportSize({ width: 390, height: 800 })
      const width = await widthOf(page)
      assert.isAtMost(width, 390)
    },
  )
})
