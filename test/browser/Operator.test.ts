/** Tests the operator's pages of the console in a real browser. */
import { assert, describe } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AccountName } from "../../src/accounts/Account.ts"
import * as memory from "../support/memory.ts"
import { MetricsProvider } from "../../src/providers/MetricsProvider.ts"
import { Costs } from "../../src/providers/costs/Costs.ts"
import * as Sandbox from "../../src/providers/vendors/Sandbox.ts"
import { browserTest, isMissing, keyboardOf, visit } from "../support/Browser.ts"
import { downloaded, widthOf } from "../support/ConsolePage.ts"
import { start } from "../support/TestServer.ts"
import { postBatch } from "../../scripts/support/postBatch.ts"

const adminToken = "a-token-for-the-tests-of-32-chars"

/** Three vendor calls: one was answered, one failed, and one got no answer. */
const bought = Layer.tap(memory.costs, (context) =>
  Context.get(context, Costs).add([
    {
      provider: "moz",
      day: Math.floor(Date.now() / 86_400_000),
      calls: 3,
      rows: 1200,
      cost: 12_500_000,
      failed: 1,
      unanswered: 1,
    },
  ]),
)

/** A vendor that counts the rows it has sold. */
const counting = Layer.map(Sandbox.layer, (context) => {
  const circuits = Effect.succeed([
    {
      provider: "moz",
      openReason: undefined,
      isExhausted: false,
      isPaused: false,
      calls: { inFlight: 0, limit: 16, latencyMs: null, errors: [] },
      status: Effect.succeed({
        quota: { unit: "rows", allotted: 10_000, left: 8770, resetsAt: null },
      }),
    },
  ])
  return Context.make(MetricsProvider, { ...Context.get(context, MetricsProvider), circuits })
})

const signIn = async (page: Page, token: string) => {
  await page.getByLabel("Token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Opens a page from the navigation. */
const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name }).click()

/** Opens the page of a customer. */
const open = async (page: Page, name: string) => {
  await go(page, "Customers")
  await page.getByRole("link", { name, exact: true }).click()
  await page.getByRole("button", { name: "Grant" }).waitFor()
}

const tableOf = (page: Page, name: string) => page.getByRole("group", { name, exact: true })

describe.skipIf(isMissing)("the operator's pages of the console", () => {
  browserTest("an operator sees who spent most and which key, and stops that key", async (run) => {
    const { key, keyId, url } = await run(start({ adminToken, credits: 1000 }))
    await postBatch(url, key, ["a.com", "b.com", "c.com"])
    const { examine, page } = await run(
      visit(url, "/console/operator", {
        viewport: { width: 320, height: 600 },
      }),
    )
    assert.isAtMost(await widthOf(page), 320)
    await page.setViewportSize({ width: 1280, height: 900 })
    await signIn(page, "wrong")
    await page.getByText("The token is wrong.").waitFor()
    // Ten wrong tokens in a minute would get another answer.
    for (const wrong of ["токен", "second", "third", "wrong"]) {
      await signIn(page, wrong)
      await page.getByText(wrong === "токен" ? "not ASCII" : "The token is wrong.").waitFor()
    }
    const token = await page.locator("input:focus").inputValue()
    assert.strictEqual(token, "wrong")
    await examine("wrong token")
    await signIn(page, adminToken)
    await page.getByRole("heading", { name: "Last 30 days" }).waitFor()
    await examine("overview")
    await go(page, "Customers")
    const accounts = await tableOf(page, "Most spent first").innerText()
    assert.match(accounts, /acme\s+3\s+997\s+0\s+3/)
    await open(page, "acme")
    await page.getByRole("heading", { name: "Usage by day" }).waitFor()
    await examine("account")

    await page.getByRole("button", { name: /^Revoke/ }).click()
    await page.getByRole("button", { name: /^Revoke am_.*now$/ }).click()
    await page.getByText("revoked", { exact: true }).waitFor()
    assert.strictEqual((await postBatch(url, key, ["a.com"])).status, 401)
    await page.setViewportSize({ width: 390, height: 800 })
    assert.isAtMost(await widthOf(page), 390)
    await examine("phone")
    await go(page, "Audit")
    await page.getByLabel("Action").fill("key.revoke")
    await page.getByText("key.create").waitFor({ state: "detached" })
    await tableOf(page, "Changes, newest first").getByText(keyId).waitFor()
    await examine("audit")
    await page.reload()
    await page.getByLabel("Token").waitFor()
  })

  browserTest(
    "an operator creates a customer and a key, corrects a grant and suspends the customer",
    async (run) => {
      const { url } = await run(start({ adminToken }))
      const { examine, page } = await run(visit(url, "/console/operator"))
      await signIn(page, adminToken)
      await go(page, "Customers")
      await page.getByRole("button", { name: "New customer" }).click()
      await page.getByLabel("Name", { exact: true }).fill("beta")
      await page.getByLabel("Credits").fill("10000")
      await page.getByRole("button", { name: "Create" }).click()
      await page.getByRole("heading", { name: "beta" }).waitFor()

      await page.getByLabel("Credits to take back").fill("9000")
      await page.getByLabel("Note").last().fill("typed a zero too many")
      await page.getByRole("button", { name: "Correct" }).click()
      await page
        .locator("dd", { hasText: /^1,000$/ })
        .first()
        .waitFor()

      await page.getByText("New key").click()
      await page.getByLabel("Label", { exact: true }).fill("rank tracker")
      await page.getByLabel("Budget", { exact: true }).fill("5/day")
      await page.getByRole("button", { name: "Create" }).last().click()
      const secret = await page.locator(".notice code").innerText()
      assert.match(secret, /^am_/)
      await examine("new key")
      await page.getByRole("button", { name: "I have copied it" }).click()
      await page.getByText("0 of 5 a day").waitFor()
      assert.notInclude(await page.content(), secret)

      const armed = (name: string) => page.getByRole("button", { name }).count()
      const suspend = async () => {
        await page.getByRole("button", { name: "Suspend" }).click()
        await page.getByRole("button", { name: "Suspend beta" }).click()
        await page.getByRole("button", { name: "Resume" }).waitFor()
      }
      // The second click of the double click lands on "Suspend beta".
      await page.getByRole("button", { name: "Suspend" }).dblclick()
      await page.getByRole("button", { name: "Suspend beta" }).waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
      await page.locator("button:focus", { hasText: "Suspend" }).waitFor()
      await suspend()
      await page.getByRole("button", { name: "Resume" }).click()
      await page.getByRole("button", { name: "Suspend" }).waitFor()
      assert.strictEqual(await armed("Suspend beta"), 0)
      await suspend()
      // The old key still works, and a second click must not rotate it again.
      const ends = "Rotate: the old key ends in 24 h"
      await page.getByRole("button", { name: /^Rotate/ }).click()
      await page.getByRole("button", { name: ends }).click()
      await page.locator(".notice code").waitFor()
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
      await tableOf(page, "Keys").getByText(tomorrow).waitFor()
      assert.strictEqual(await armed(ends), 0)
      const credits = await fetch(`${url}/v1/quota/available-credits`, {
        headers: { "x-api-key": secret },
      })
      assert.strictEqual(credits.status, 403)
      await go(page, "Customers")
      await page.getByRole("link", { name: "acme" }).waitFor()
      await page.getByRole("searchbox").pressSequentially("rank")
      await page.getByRole("link", { name: "acme" }).waitFor({ state: "detached" })
    },
  )

  browserTest("the secret of a new key stays visible until it is copied", async (run) => {
    const { accounts, url } = await run(start({ adminToken }))
    for (let i = 0; i < 40; i++) await run(accounts.create(AccountName.make(`other-${i}`)))
    const { page } = await run(visit(url, "/console/operator"))
    await signIn(page, adminToken)
    const secrets = (page: Page) => page.locator(".notice code")
    await open(page, "acme")
    await page.locator("h1:focus", { hasText: "acme" }).waitFor()
    await page.getByText("New key").click()
    for (const count of [1, 2]) {
      await page.getByRole("button", { name: "Create" }).last().click()
      await secrets(page)
        .nth(count - 1)
        .waitFor()
      assert.strictEqual(await page.locator(".notice:focus").count(), 1)
    }
    const both = await secrets(page).allInnerTexts()
    await open(page, "other-7")
    assert.strictEqual(await secrets(page).count(), 0)
    await open(page, "acme")
    assert.deepStrictEqual(await secrets(page).allInnerTexts(), both)
    await page.getByRole("button", { name: "I have copied it" }).first().click()
    assert.deepStrictEqual(await secrets(page).allInnerTexts(), both.slice(1))
  })

  browserTest(
    "at a zoom of 400 %, the operator's pages fit the window, and a refusal is visible",
    async (run) => {
      const { account, accounts, keys, url } = await run(start({ adminToken }))
      await run(accounts.create(AccountName.make("n".repeat(60))))
      await run(keys.issue({ account, label: "l".repeat(200) }))
      const { examine, page } = await run(
        visit(url, "/console/operator", {
          viewport: { width: 320, height: 256 },
        }),
      )
      await signIn(page, adminToken)
      await open(page, "acme")
      await page.getByText("New key").click()
      await page.getByRole("button", { name: "Create" }).last().click()
      await page.locator(".notice:focus").waitFor()
      assert.isAtMost(await widthOf(page), 320)
      const label = await page.getByText("l".repeat(200)).first().boundingBox()
      assert.isAtMost(label?.width ?? Infinity, 400)
      await page.getByLabel("Credits to take back").fill("9000")
      await page.getByLabel("Note").last().fill("more than there is")
      await page.getByRole("button", { name: "Correct" }).click()
      const refusal = (page: Page) => page.getByRole("alert").getByRole("paragraph")
      await refusal(page).waitFor()
      const place = await refusal(page).boundingBox()
      assert.isAtLeast(place?.y ?? -1, 0)
      await examine("refusal")
      await open(page, "n".repeat(60))
      await page.locator("h1:focus", { hasText: "nnn" }).waitFor()
      await page.getByRole("button", { name: "Suspend" }).click()
      assert.isAtMost(await widthOf(page), 320)
      await examine("long name")
    },
  )

  browserTest("a grant is made once, even if its answer is lost or unreadable", async (run) => {
    const { books, url } = await run(start({ adminToken, credits: 1000 }))
    const { page } = await run(visit(url, "/console/operator"))
    await signIn(page, adminToken)
    await open(page, "acme")
    await page.route("**/credits", async (route) => {
      await route.fetch()
      await route.fulfill({ status: 502 })
    })
    const amount = (page: Page) => page.getByLabel("Credits to grant")
    const grant = () => page.getByRole("button", { name: "Grant" }).click()
    await amount(page).fill("500")
    await grant()
    const mayBeDone = "The change may be made already"
    await page.getByText(`The service answered 502. ${mayBeDone}`).waitFor()
    await page.unroute("**/credits")
    await page.route("**/credits", async (route) => {
      await route.fetch()
      await route.fulfill({ body: '{"success":' })
    })
    await grant()
    await page.getByText(`try again. ${mayBeDone}`).waitFor()
    await page.unroute("**/credits")
    await page.route("**/statement?*", (route) => route.fulfill({ status: 502 }))
    await grant()
    await page.getByText("The service answered 502.").waitFor()
    assert.strictEqual(await amount(page).inputValue(), "")
    assert.strictEqual(Number((await run(books)).available), 1500)
    await page.unroute("**/statement?*")
    await amount(page).fill("500")
    await grant()
    await page
      .locator("dd", { hasText: /^2,000$/ })
      .first()
      .waitFor()
  })

  browserTest(
    "the operator sees more keys than one answer contains, and what each of them spent",
    async (run) => {
      const { account, keys, url } = await run(start({ adminToken, credits: 1000 }))
      const issued = await run(Effect.replicateEffect(keys.issue({ account }), 1001))
      // An answer lists 100 keys by default: those that spent most.
      for (const [i, { key }] of issued.slice(0, 101).entries()) {
        await postBatch(url, Redacted.value(key), i === 0 ? ["a.com"] : ["a.com", "b.com"])
      }
      const { page } = await run(visit(url, "/console/operator"))
      await signIn(page, adminToken)
      await open(page, "acme")
      const table = tableOf(page, "Keys")
      await table.waitFor()
      const rows = table.locator("tbody tr")
      assert.strictEqual(await rows.count(), 50)
      await page.getByRole("button", { name: "Show all 1,002 rows" }).click()
      assert.strictEqual(await rows.count(), 1002)
      const spent = await table.locator("td.num").allInnerTexts()
      assert.strictEqual(spent.filter((credits) => credits === "1").length, 1)
    },
  )

  browserTest(
    "a request that hangs ends with advice, and the operator can sign out",
    async (run) => {
      const { url } = await run(start({ adminToken }))
      const { page } = await run(visit(url, "/console/operator"))
      await signIn(page, adminToken)
      await open(page, "acme")
      await page.getByRole("button", { name: "Grant" }).waitFor()
      await page.route("**/credits", () => {})
      // Make a minute in the page pass in a second of the test.
      await page.evaluate(
        "AbortSignal.timeout = ((limit) => (ms) => limit.call(AbortSignal, ms / 60))(AbortSignal.timeout)",
      )
      await page.getByLabel("Credits to grant").fill("500")
      await page.getByRole("button", { name: "Grant" }).click()
      await page.getByText("press Refresh before you repeat it").waitFor()
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Token").waitFor()
    },
  )

  browserTest(
    "the operator's pages can be used with the keyboard alone, which keeps its place",
    async (run) => {
      const { url } = await run(start({ adminToken, credits: 1000 }))
      const { page } = await run(visit(url, "/console/operator"))
      const { hasFocus, press } = keyboardOf(page)
      await page.getByLabel("Token").fill(adminToken)
      await page.getByLabel("Token").press("Enter")
      await hasFocus("h1", "Overview")

      let goOn = () => {}
      const held = new Promise<void>((resolve) => (goOn = resolve))
      await page.route("**/overview", (route) => held.then(() => route.continue()))
      await press("Refresh")
      await hasFocus("[aria-disabled=true]", "Refresh")
      goOn()
      await hasFocus("[aria-disabled=false]", "Refresh")

      const type = async (label: string, text: string) => {
        await page.getByLabel(label, { exact: true }).focus()
        await page.keyboard.type(text)
      }
      const enter = () => page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Customers" }).press("Enter")
      await hasFocus("h1", "Customers")
      await press("New customer")
      await page.getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor()
      await page.keyboard.type("beta")
      await enter()
      await hasFocus("h1", "beta")
      await type("Credits to grant", "500")
      await enter()
      await page.locator("dd", { hasText: /^500$/ }).first().waitFor()
      await type("Credits to take back", "100")
      await page.keyboard.press("Tab")
      await page.keyboard.type("granted too much")
      await enter()
      await page.locator("dd", { hasText: /^400$/ }).first().waitFor()

      await page.getByText("New key").press("Enter")
      await type("Label", "rank tracker")
      await enter()
      await hasFocus(".notice", "This key is shown once")
      await press("I have copied it")
      await hasFocus("h1", "beta")
      await press(/^Change/)
      await page.keyboard.type("2")
      await enter()
      await page.getByText("rank tracker2").waitFor()
      await press(/^Revoke/)
      await press(/^Revoke am_.*now$/)
      await page.getByText("revoked", { exact: true }).waitFor()
      await hasFocus("h2", "Keys")
      await press("Suspend")
      await press("Suspend beta")
      await page.getByRole("button", { name: "Resume" }).waitFor()
      await hasFocus("h1", "beta")
      await press("Resume")
      await page.getByRole("button", { name: "Suspend" }).waitFor()
      await press("Sign out")
      await hasFocus("h1", "Administration")
    },
  )

  browserTest("a refused form of the operator shows what is wrong with each field", async (run) => {
    const { url } = await run(start({ adminToken }))
    const { page } = await run(visit(url, "/console/operator"))
    await signIn(page, adminToken)
    await open(page, "acme")
    await page.getByText("New key").click()
    await page.getByLabel("Label", { exact: true }).fill("l".repeat(201))
    // The browser appends this to its own message about text in the wrong format.
    assert.strictEqual(
      await page.getByLabel("Budget", { exact: true }).getAttribute("title"),
      "for example 500/day",
    )
    await page.getByLabel("Budget", { exact: true }).fill("0/day")
    await page.getByRole("button", { name: "Create" }).last().click()
    const refusal = await page.getByRole("alert").getByRole("paragraph").innerText()
    assert.match(refusal, /^label: .* 200 .*; budget: expected a budget such as 500\/day/)
  })

  browserTest("an operator changes a key's label, budget and scopes on a phone", async (run) => {
    const { account, credits, key, keyId, keys, url } = await run(start({ adminToken }))
    const { examine, page } = await run(
      visit(url, "/console/operator", {
        viewport: { width: 390, height: 800 },
      }),
    )
    await signIn(page, adminToken)
    await open(page, "acme")
    const change = () => page.getByRole("button", { name: /^Change/ }).click()
    const field = (page: Page, name: string) =>
      page.getByRole("form", { name: `Change ${key.slice(0, 9)}…` }).getByLabel(name)
    const save = () => page.getByRole("button", { name: /^Save/ }).click()
    await change()
    assert.isTrue(await field(page, "Label").evaluate((input) => input.matches(":focus")))
    await field(page, "Label").fill("rank tracker")
    await field(page, "Budget").fill("5/day")
    await field(page, "Scopes").selectOption("check")
    await examine("change of a key")
    assert.isAtMost(await widthOf(page), 390)
    await save()
    await page.getByText("0 of 5 a day").waitFor()
    assert.strictEqual((await run(credits)).status, 403)

    await change()
    await field(page, "Budget").fill("")
    await save()
    await page.getByText("0 of 5 a day").waitFor({ state: "detached" })
    const [changed] = await run(keys.list(account))
    assert.deepInclude(changed, {
      id: keyId,
      label: "rank tracker",
      scopes: ["check"],
      budget: null,
    })
    // The second line of the audit log names only the budget.
    await go(page, "Audit")
    const log = await tableOf(page, "Changes, newest first").innerText()
    assert.match(log, /key\.update\s+\S+\s+account: acme, budget: none\n/)
  })

  browserTest(
    "the operator sees what was bought by day, beside the vendor's own count",
    async (run) => {
      const { url } = await run(
        start({
          adminToken,
          costs: bought,
          provider: counting,
          ceilingOf: () => 3000,
        }),
      )
      const { examine, page } = await run(visit(url, "/console/operator"))
      await signIn(page, adminToken)
      const textOf = (name: string) => tableOf(page, name).innerText()
      await go(page, "Vendors")
      assert.match(await textOf("Calls and cost by day"), /moz\s+3\s+1,200\s+1\s+1\s+\$12.50/)
      // The page shows the month's count beside the ceiling and the vendor's own count.
      const month = await textOf("This month")
      assert.match(month, /moz\s+working\s+1,230 of 10,000 rows\s+1,200 of 3,000 rows\s+\$12.50/)
      await examine("costs")
      await page.setViewportSize({ width: 390, height: 800 })
      assert.isAtMost(await widthOf(page), 390)
      await examine("costs on a phone")
    },
  )

  browserTest("a service without the administration API has no operator's page", async (run) => {
    const { url } = await run(start())
    const { status } = await fetch(`${url}/console/operator`)
    assert.strictEqual(status, 404)
  })

  browserTest(
    "the overview shows revenue, cost and margin, and who is running out of credits",
    async (run) => {
      const { key, url } = await run(
        start({
          adminToken,
          credits: 5,
          costs: bought,
          provider: counting,
          creditValue: 10_000_000,
        }),
      )
      await postBatch(url, key, ["a.com", "b.com", "c.com"])
      const { examine, page } = await run(visit(url, "/console/operator"))
      await signIn(page, adminToken)
      const shown = (name: string) =>
        page
          .locator(".tiles div")
          .filter({ has: page.getByText(name, { exact: true }) })
          .innerText()
      assert.match(await shown("Revenue"), /\$30\.00/)
      assert.match(await shown("Vendors’ cost"), /\$12\.50/)
      assert.match(await shown("Margin"), /\$17\.50\s+58 % of revenue/)
      const runningOut = await tableOf(page, "About to run out").innerText()
      assert.match(runningOut, /acme\s+2\s+3\s+4 days/)
      await examine("overview with money")

      const chart = (page: Page) => page.getByRole("slider", { name: /^Sales and cost/ })
      await chart(page).press("ArrowLeft")
      const today = await chart(page).getAttribute("aria-valuetext")
      assert.match(
        today ?? "",
        /so far: Vendors’ cost \$12\.50, Margin \$17\.50, Credits charged 3$/,
      )
      await chart(page).press("ArrowLeft")
      const before = await chart(page).getAttribute("aria-valuetext")
      assert.match(before ?? "", /Margin \$0\.00, Credits charged 0$/)

      const file = await downloaded(page, "CSV of By day")
      assert.match(file.name, /^sales-\d{4}-\d\d-\d\d\.csv$/)
      assert.match(
        file.text,
        /Day,Credits charged,From cache,.*\r\n\d{4}-\d\d-\d\d,3,0,12\.5,30,17\.5\r\n/,
      )
    },
  )
})
