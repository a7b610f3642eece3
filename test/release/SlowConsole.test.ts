/**
 * Tests in a real browser that take long: every state on a phone, long lists, and a browser that
 * cannot store anything.
 */
import { assert, describe } from "@effect/vitest"
import { browserTest, isMissing, visit } from "../support/Browser.ts"
import {
  sites,
  mixed,
  enter,
  useKey,
  paste,
  start,
  heading,
  edit,
  gate,
  widthOf,
} from "../support/ConsolePage.ts"
import { folder, openAccount, serve } from "../support/Program.ts"

describe.skipIf(isMissing)("the console", () => {
  browserTest(
    "the console checks 10,000 URLs with only 150 rows in the page, and reads 100,000",
    async (run) => {
      const cwd = await run(folder)
      const { key } = await run(openAccount(cwd, 20_000))
      const { url } = await run(serve(cwd))
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await paste(page, sites(100_000))
      await page.getByRole("button", { name: "Check 100,000 addresses" }).waitFor()
      await page.getByRole("button", { name: "Remove" }).click()
      await paste(page, sites(10_000))
      await start(page)
      await page.getByRole("button", { name: "Check, at most 10,000 credits" }).click()
      await page.getByRole("heading", { name: "Done: 10,000" }).waitFor({ timeout: 120_000 })
      await page.getByRole("button", { name: "Page authority" }).first().click()
      assert.isAtMost(await page.locator(".results tbody tr").count(), 150)
      await page.getByText("10,000 credits available").waitFor()
    },
  )

  browserTest(
    "the console says if the browser cannot store answers, and continues",
    async (run) => {
      const cwd = await run(folder)
      const { key } = await run(openAccount(cwd, 1000))
      const { url } = await run(serve(cwd))
      const { examine, page } = await run(visit(url, "/console"))
      await page.addInitScript("IDBFactory.prototype.open = () => { throw new Error('refused') }")
      await page.reload()
      await page.getByText("This browser does not keep the answers").waitFor()
      await useKey(page, key)
      await paste(page, sites(60))
      await start(page)
      await heading(page, "Done: 60 addresses")
      await examine("not kept")
    },
  )

  browserTest(
    "every state of the console fits the width of a phone and is accessible",
    async (run) => {
      const cwd = await run(folder)
      const { key } = await run(openAccount(cwd, 140))
      const { url } = await run(serve(cwd))
      const { examine, page } = await run(
        visit(url, "/console", {
          viewport: { width: 390, height: 844 },
          isMobile: true,
          hasTouch: true,
        }),
      )
      const look = async (state: string) => {
        assert.strictEqual(await widthOf(page), 390, state)
        await examine(`phone ${state}`)
      }
      await look("empty")
      await enter(page, "ключ")
      await page.getByText("This key is not accepted").waitFor()
      await look("wrong key")
      await useKey(page, key)
      // None of these addresses is in the first list.
      const others = sites(175).slice(115)
      const table = [...mixed, `https://www.example.com/${"long-and-".repeat(60)}`]
      await paste(
        page,
        table.map((url, index) => `${url}\t${index}`),
      )
      await page.getByLabel("Addresses are in").waitFor()
      await look("list")
      const { open: goOn } = await gate(page, 1)
      await start(page)
      await page.locator(".done").getByText("50").waitFor()
      await look("running")
      goOn()
      await heading(page, /^Done/)
      await look("done")
      await page.getByLabel("Show").selectOption("Not checked")
      await page.locator(".table").scrollIntoViewIfNeeded()
      await look("failures")
      await page.getByLabel("Filter by address").fill("none of them")
      await page.getByText("No address matches the filter.").waitFor()
      await look("no match")
      await edit(page)
      await page.getByRole("button", { name: "Clear" }).click()
      await page.getByLabel("Domains or pages").fill(others.join("\n"))
      await start(page)
      await page.getByRole("button", { name: "Check, at most 60 credits" }).waitFor()
      await look("balance")
      await page.getByRole("button", { name: "Check, at most 60 credits" }).click()
      await page.getByText("Out of credits.").waitFor()
      await look("out of credits")
      await page.setViewportSize({ width: 360, height: 740 })
      assert.strictEqual(await widthOf(page), 360)
    },
  )
})

describe.skipIf(isMissing)("the documentation pages", () => {
  browserTest("a page of the guide is accessible and fits the width of a phone", async (run) => {
    const { url } = await run(serve(await run(folder)))
    const { examine, page } = await run(visit(url, "/docs/guide/operating"))
    await heading(page, "The settings")
    await examine("operating")
    await page.setViewportSize({ width: 360, height: 740 })
    assert.strictEqual(await widthOf(page), 360)
    await page.getByRole("link", { name: "Console" }).click()
    await heading(page, "See how strong every site on your list is")
  })
})
