/** Tests the console in a real browser. The service runs in the test's process. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import {
  browserTest,
  examineContrast,
  isMissing,
  keyboardOf,
  type Run,
  visit,
} from "../support/Browser.ts"
import {
  sites,
  failing,
  mixed,
  enter,
  useKey,
  paste,
  start,
  heading,
  gone,
  tally,
  edit,
  openKey,
  shown,
  downloaded,
  batches,
  gate,
  widthOf,
} from "../support/ConsolePage.ts"
import { fixtures } from "../support/lists.ts"
import { start as startServer } from "../support/TestServer.ts"

/** Starts a service whose figures are synthetic, with an account that has these credits. */
const service = (credits = 1000) => startServer({ credits, hasSyntheticFigures: true })

/** Opens the console, and checks the mixed list. */
const checkMixed = async (run: Run) => {
  const { key, url } = await run(service())
  const visited = await run(visit(url, "/console"))
  await useKey(visited.page, key)
  await paste(visited.page, mixed)
  await start(visited.page)
  await heading(visited.page, /^Done/)
  return visited
}

/** Returns the text of each row of the plan. */
const planShown = async (page: Page) => {
  await page.locator(".plan[open] tbody").waitFor()
  const rows = await page.locator(".plan tbody tr").allInnerTexts()
  return rows.map((row) => row.split("\t").join(" "))
}

/** Returns the fields of each row that came from the service. */
const factsOf = (rows: ReadonlyArray<object>) =>
  rows.map((row) =>
    Object.entries(row)
      .filter(([name]) => /^(url|.*Authority|spamScore|reason)$/.test(name))
      .sort(),
  )

/** Returns the date `days` days ago. */
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** Makes figures of a.com that a provider gave on a date. */
const bought = (provider: string, at: string, index: string, authority: number): Figures => ({
  provider,
  page: "a.com/",
  metrics: { domainAuthority: authority, pageAuthority: 30 },
  fetchedAt: Date.parse(at),
  index,
  of: undefined,
})

/** Two figures of one provider with different indexes, and one of another provider. */
const pastFigures = Layer.effect(
  MetricsCache,
  Effect.tap(MetricsCache, (cache) =>
    Effect.forEach(
      [
        bought("moz", ago(99), "spring", 40),
        bought("moz", ago(10), "autumn", 44.5),
        bought("openpagerank", ago(11), ago(40), 51),
      ],
      (figures) => cache.put([figures]),
    ),
  ),
).pipe(Layer.provide(memory.metricsCache))

const everythingInIndexedDb = `(async () => {
  const done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  const found = []
  for (const { name } of await indexedDB.databases()) {
    const db = await done(indexedDB.open(name))
    for (const store of db.objectStoreNames) {
      const records = db.transaction(store).objectStore(store)
      found.push(await done(records.getAllKeys()), await done(records.getAll()))
    }
    db.close()
  }
  return JSON.stringify(found)
})()`

const isFocused = (page: Page, name: string) =>
  page
    .getByRole("button", { name, exact: true })
    .evaluate((button) => button === button.ownerDocument.activeElement)

describe.skipIf(isMissing)("the console", () => {
  browserTest(
    "the console checks 120 pasted URLs, and shows the progress and each outcome",
    async (run) => {
      const { key, url } = await run(service())
      const { examine, page } = await run(visit(url, "/console"))
      await examine("empty")
      await useKey(page, key)
      await page.getByText("1,000 credits available").waitFor()
      await paste(page, mixed)
      await examine("list")

      const { open: goOn } = await gate(page, 2)
      await start(page)
      await heading(page, "Checking 120 addresses")
      const progress = page.getByRole("progressbar")
      await page.locator(".done").getByText("100").waitFor()
      assert.strictEqual(await progress.getAttribute("aria-valuetext"), "103 of 120")
      await examine("running")
      goOn()

      await heading(page, "Done: 120 addresses")
      assert.deepStrictEqual(await tally(page), ["115", "5", "0", "115"])
      await page.getByText("885 credits available").waitFor()
      await examine("done")

      await page.getByLabel("Show").selectOption("Not checked")
      assert.deepStrictEqual(await shown(page), Object.keys(failing))
      const chips = await page.locator("td.why .reason").allInnerTexts()
      assert.deepStrictEqual(
        chips.map((text) => text.split("\n")[0]),
        Object.values(failing),
      )
      await page.locator("td.why .reason").first().focus()
      const tip = await page.evaluate(
        'getComputedStyle(document.querySelector(".reason:focus .tip")).opacity',
      )
      assert.strictEqual(tip, "1")
      await examine("failures")
    },
  )

  browserTest(
    "the console sorts, filters and exports the results, and marks synthetic figures",
    async (run) => {
      const { page } = await checkMixed(run)
      const head = page.getByRole("columnheader", { name: "Domain authority" })
      assert.strictEqual(await head.getAttribute("aria-sort"), "descending")
      const figures = (await page.locator("td.domainAuthority .value").allInnerTexts()).map(Number)
      assert.lengthOf(figures, 115)
      assert.deepStrictEqual(
        figures,
        figures.toSorted((a, b) => b - a),
      )
      assert.deepStrictEqual((await shown(page)).slice(-5), Object.keys(failing))
      // Exports keep the order of the list until the user sorts the table.
      const all = await downloaded(page, "Export all as CSV")
      assert.deepStrictEqual(
        all.text
          .split("\r\n")
          .slice(1, -1)
          .map((line) => line.split(",")[0]),
        mixed,
      )

      await page.getByLabel("Filter by address").fill("SITE-11")
      await page.getByText("6 of 120 addresses").waitFor()
      const { name, text } = await downloaded(page, "Export these 6 as CSV")
      assert.match(name, /^authority-synthetic-\d{4}-\d\d-\d\d\.csv$/)
      const [top, ...lines] = text.trim().split("\r\n")
      assert.match(top ?? "", /^url,domainAuthority,pageAuthority,spamScore,reason,provider,source/)
      assert.deepStrictEqual(
        lines.map((line) => line.split(",")[0]).sort(),
        ["site-11.com", ...[0, 1, 2, 3, 4].map((n) => `site-11${n}.com`)].sort(),
      )
      for (const line of lines) {
        assert.match(line, /^site-\d+\.com,\d+,\d+,\d+,,sandbox,bought,\d{4}-\d\d-\d\dT/)
      }
      await page.getByText("They say nothing about real sites").waitFor()

      await page.getByLabel("Filter by address").fill("")
      const bar = page.getByRole("button", { name: /from 0 / }).first()
      const count = Number.parseInt(await bar.innerText())
      await bar.click()
      await page.getByText(`${count} of 120 addresses`).waitFor()
    },
  )

  browserTest(
    "a click on a chart's bar filters the table, and an export contains only the filtered rows",
    async (run) => {
      const { examine, page } = await checkMixed(run)

      const bars = page.getByRole("group", { name: "Domain authority: how many" })
      await bars.getByRole("button", { name: /from 10 / }).click()
      await page.getByRole("columnheader", { name: "No." }).click()
      const { text } = await downloaded(page, "as JSON")
      const found: ReadonlyArray<{ url: string; domainAuthority: number }> = JSON.parse(text)
      assert.isAbove(found.length, 0)
      for (const { domainAuthority } of found) {
        assert.isAtLeast(domainAuthority, 10)
        assert.isBelow(domainAuthority, 20)
      }
      assert.deepStrictEqual(
        await shown(page),
        found.map(({ url }) => url),
      )
      await examine("bar")
      await page.getByRole("button", { name: `Copy these` }).click()
      await page.getByText(`Copied ${found.length} addresses.`).waitFor()
      const copied = String(await page.evaluate("navigator.clipboard.readText()"))
      assert.deepStrictEqual(
        copied.split("\n").map((line) => line.split("\t")[0]),
        ["url", ...found.map(({ url }) => url)],
      )
      await page.getByRole("button", { name: "remove this filter" }).click()
      await page.getByText("120 addresses", { exact: true }).last().waitFor()

      const head = page.getByRole("columnheader", { name: "Spam score" })
      await page.locator("tbody tr").nth(60).scrollIntoViewIfNeeded()
      await page.evaluate("scrollBy(0, 400)")
      const top = await page.locator(".top").boundingBox()
      assert.strictEqual(top?.y, 0)
      const place = await head.boundingBox()
      assert.closeTo(place?.y ?? 0, top?.height ?? 0, 2)
    },
  )

  browserTest("the charts show every range of the three figures", async (run) => {
    const { page } = await checkMixed(run)
    for (const name of ["Domain authority", "Page authority", "Spam score"]) {
      const bars = page.getByRole("group", { name: `${name}: how many` }).getByRole("button")
      const names = await bars.allInnerTexts()
      assert.lengthOf(names, 10)
      const total = names.reduce((sum, text) => sum + Number.parseInt(text), 0)
      assert.strictEqual(total, 115, name)
    }
    const share = page.getByRole("region", { name: "Spam score" }).getByText("above 30")
    assert.match(await share.innerText(), /^median \d+ · \d+% above 30$/)
  })

  browserTest(
    "each address in the table has a link and takes one line, which is shown in full when focused",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      const long = `https://the-customer-portal-of-an-agency.example.org/${"second/".repeat(20)}end`
      const host = `${`${"label".repeat(8)}.`.repeat(4)}org`
      await paste(page, ["a.com", "https://b.com/page", "localhost", long, host])
      await start(page)
      await heading(page, /^Done/)
      const link = page.getByRole("link", { name: "Open https://b.com/page in a new tab" })
      assert.strictEqual(await link.getAttribute("href"), "https://b.com/page")
      assert.strictEqual(await page.locator("td.url a").count(), 4)
      for (const width of [390, 1024, 1440, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        const heights = await page
          .locator(".results tbody tr")
          .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height))
        assert.isTrue(
          heights.every((height) => height < 40),
          `${width} px: ${heights}`,
        )
        const wide = await widthOf(page)
        assert.isAtMost(wide, width)
      }
      await page.getByRole("link", { name: `Open ${long}` }).focus()
      const head = page.locator("tr:focus-within .head")
      assert.isTrue(await head.evaluate((text) => text.scrollWidth <= text.clientWidth + 1))
    },
  )

  browserTest(
    "a long list of results scrolls with only a window of rows in the page, even by keyboard",
    async (run) => {
      const { key, url } = await run(service(5000))
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await page.getByLabel("Ask before a check").fill("5000")
      await paste(page, sites(3000))
      await start(page)
      await heading(page, "Done: 3,000 addresses")
      await page.getByRole("columnheader", { name: "No." }).click()
      const inPage = () => page.locator(".results [aria-rowindex]").count()
      assert.isBelow(await inPage(), 200)
      await page.evaluate("scrollTo(0, document.body.scrollHeight)")
      await page.getByRole("rowheader", { name: "site-2999.com" }).waitFor()
      assert.isBelow(await inPage(), 200)
      await page.evaluate("scrollTo(0, 0)")
      await page.getByRole("link", { name: "Open site-0.com in" }).focus()
      for (let i = 0; i < 300; i++) await page.keyboard.press("Tab")
      const focused = await page.locator(":focus").getAttribute("aria-label")
      assert.strictEqual(focused, "Open site-150.com in a new tab")
    },
  )

  browserTest(
    "a long list that is pasted over the text of the field replaces the text",
    async (run) => {
      const { url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await page.getByLabel("Domains or pages").fill("old.com\nolder.com")
      await page.getByLabel("Domains or pages").press("Control+A")
      await paste(page, sites(9000))
      await page.getByRole("button", { name: "Check 9,000 addresses" }).waitFor()
    },
  )

  browserTest(
    "the console draws the history of an address, including the figures of its own run",
    async (run) => {
      const { key, url } = await run(startServer({ figures: pastFigures }))
      const { examine, page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await paste(page, ["a.com", "b.com", "localhost"])
      await start(page)
      await heading(page, "Done: 3 addresses")
      const open = (name: string) =>
        page.getByRole("button", { name: `History of ${name}` }).click()
      const close = () => page.getByRole("button", { name: "Close" }).click()
      assert.strictEqual(await page.getByRole("button", { name: /^History of/ }).count(), 2)

      await open("a.com")
      const plot = page.getByRole("img", { name: /^Domain authority over time/ })
      await plot.waitFor()
      await page.getByRole("status").getByText("4 observations").waitFor()
      const drawn = (what: string) => plot.locator(what).count()
      assert.strictEqual(await drawn(".stroke"), 3)
      assert.strictEqual(await drawn(".point"), 4)
      assert.strictEqual(await drawn(".change"), 1)
      const dates = await page.locator(".past .dates").first().innerText()
      assert.deepStrictEqual(dates.split(/\s+/), [ago(99), ago(50), ago(0)])
      const table = page.getByRole("group", { name: "Newest first" })
      const rows = (await table.getByRole("row").allInnerTexts()).slice(1)
      const [own, ...past] = rows.map((row) => row.split("\t").slice(2).join())
      assert.match(own ?? "", /^sandbox,/)
      assert.deepStrictEqual(past, [
        "moz,44.5,30,autumn (was spring)",
        `openpagerank,51,30,${ago(40)}`,
        "moz,40,30,spring",
      ])
      await examine("history")
      await page.setViewportSize({ width: 390, height: 844 })
      assert.strictEqual(await widthOf(page), 390)
      const [wide, inside] = await page
        .getByRole("dialog")
        .evaluate(({ clientWidth, scrollWidth }) => [scrollWidth, clientWidth])
      assert.strictEqual(wide, inside)
      await page.keyboard.press("Escape")
      await page.getByRole("dialog").waitFor(gone)
      assert.isTrue(await isFocused(page, "History of a.com"))

      await open("b.com")
      await page.getByRole("status").getByText("1 observation").waitFor()
      await close()
      const history = "**/v1/metrics/da-pa/history?*"
      await page.route(history, (route) => route.fulfill({ status: 500 }))
      await open("b.com")
      await page.locator("dialog .problem").waitFor()
      await close()
      await openKey(page)
      await page.getByRole("button", { name: "Use another key" }).click()
      await open("a.com")
      await page.getByText("The history needs a key.").waitFor()
    },
  )

  browserTest(
    "the console exports all columns of a CSV, whose URL column the user can choose",
    async (run) => {
      const { key, url } = await run(service())
      const { examine, page } = await run(visit(url, "/console"))
      await useKey(page, key)
      const csv =
        'id,url,rival,note\n1,a.com,x.com,"one, two"\n2,b.com,y.com,=1+1\n3,c.com,x.com,\n'
      const choose = (text: string) => (page: Page) =>
        page
          .getByLabel("Choose a file")
          .setInputFiles({ name: "sites.csv", mimeType: "text/csv", buffer: Buffer.from(text) })
      await choose(csv.replace('two"', "two"))(page)
      await page.getByRole("button", { name: "Check", exact: true }).click()
      await page.getByText("sites.csv has a quote in line 2").waitFor()
      await page.getByRole("button", { name: "Remove" }).click()
      await choose(csv)(page)
      await page.getByText("3 addresses · from the column “url”").waitFor()
      await page.getByLabel("Addresses are in").selectOption("rival")
      await page.getByText("3 addresses · from the column “rival” · 1 duplicate").waitFor()
      await examine("column")
      await start(page)
      await heading(page, "Done: 3 addresses")
      await page.getByRole("columnheader", { name: "No." }).click()
      assert.deepStrictEqual(await shown(page), ["x.com", "y.com", "x.com"])
      for (const width of [900, 1001, 1440, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        const address = await page.locator("th.url").boundingBox()
        assert.isAbove(address?.width ?? 0, 150, `the addresses at ${width} px`)
      }
      await page.setViewportSize({ width: 1280, height: 900 })
      const { text } = await downloaded(page, "Export all as CSV")
      const [top, ...lines] = text.trim().split("\r\n")
      assert.match(top ?? "", /^id,url,rival,note,domainAuthority,.*,index,of,cause,detail$/)
      assert.deepStrictEqual(
        lines.map((line) => line.replace(/,\d+,\d+,\d+,,sandbox,.*/, "")),
        ['1,a.com,x.com,"one, two"', `2,b.com,y.com,"'=1+1"`, "3,c.com,x.com,"],
      )
    },
  )

  browserTest(
    "the console reads lists as authority check does, and tells what each costs",
    async (run) => {
      const price = 2
      const { books, key, url } = await run(startServer({ price, hasSyntheticFigures: true }))
      const { page } = await run(visit(url, "/console"))
      const client = AuthorityMetrics({ baseUrl: url, apiKey: key })
      await useKey(page, key)
      const files = fixtures.filter(({ urls }) => urls.length > 0)
      for (const { column, content, isGuessed = false, urls, ...fixture } of files) {
        const buffer = Buffer.from(content)
        const from =
          column === undefined
            ? ""
            : ` · from ${/^column \d$/.test(column) ? column : `the column “${column}”`}`
        await page
          .getByLabel("Choose a file")
          .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer })
        const equal = urls.length - new Set(urls).size
        const shown =
          `${urls.length} ${urls.length === 1 ? "address" : "addresses"}${from}` +
          (equal === 0 ? "" : ` · ${equal} duplicate`) +
          (isGuessed ? " · read as Windows-1252, not UTF-8" : "")
        await page.getByText(shown, { exact: true }).last().waitFor()

        const { duplicates, guessed, name, targets } = fixture
        if (guessed !== undefined) {
          await page.getByRole("button", { name: "What does it cost?" }).click()
          await page.getByText("Confirm the hosts that were guessed").waitFor()
          await page.getByLabel("are right").check()
        }
        const before = await run(books)
        await page.getByRole("button", { name: "What does it cost?" }).click()
        const asked = page.getByRole("group", { name: "Before anything is paid" })
        await asked.waitFor()
        const invalid = urls.length - targets - duplicates
        const plan = (await planShown(page)).filter((row) => !row.startsWith("answered"))
        const free = [
          ...(duplicates === 0 ? [] : [`duplicates ${duplicates} 0`]),
          ...(invalid === 0 ? [] : [`invalid ${invalid} 0`]),
        ]
        assert.deepStrictEqual(plan.slice(0, free.length), free, name)
        const costs = `This start costs at most ${targets * price} credit`
        if (targets > 0) await asked.getByText(costs).waitFor()
        assert.deepStrictEqual(await run(books), before, name)
        await asked.getByRole("button", { name: /^(Check|Close)/ }).click()
        await heading(page, `Done: ${urls.length} address`)
        const { text } = await downloaded(page, "Export all as JSON")
        const paid = (await run(books)).charged - before.charged
        assert.strictEqual(paid, targets * price, name)
        const { outcomes } = await client.check(urls)
        assert.deepStrictEqual(factsOf(JSON.parse(text)), factsOf(outcomes), name)
        // The next list repeats some of these addresses.
        await openKey(page)
        await page.getByRole("button", { name: "Delete everything" }).click()
        await page.getByRole("button", { name: "Delete permanently" }).click()
        await useKey(page, key)
        await edit(page)
        await page.getByRole("button", { name: "Remove" }).click()
      }
      const unclear = Buffer.from("from,to\na.com,b.com\n")
      await page
        .getByLabel("Choose a file")
        .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: unclear })
      await page.getByRole("button", { name: "Check", exact: true }).click()
      await page.getByText("Choose the column that has the addresses.").waitFor()
      await page.getByLabel("Addresses are in").selectOption("to")
      await page.getByText("1 address · from the column “to”").waitFor()
      await page.getByRole("button", { name: "Remove" }).click()
      await page
        .getByLabel("Choose a file")
        .setInputFiles({ name: "a.xlsx", mimeType: "", buffer: Buffer.from("PK\x03\x04") })
      await page.getByText("a.xlsx is a workbook").waitFor()
    },
  )

  browserTest(
    "the console reports a wrong API key, and text that cannot be an API key",
    async (run) => {
      const { key, url } = await run(service(10))
      const { examine, page } = await run(visit(url, "/console"))
      await paste(page, sites(3))
      await start(page)
      await page.getByText("Enter a key first.").waitFor()
      for (const wrong of ["ключ", `${key.slice(0, -1)}!`]) {
        await enter(page, wrong)
        await page.getByText("This key is not accepted").waitFor()
      }
      await examine("wrong key")
      await enter(page, ` ${key} `)
      await page.getByText("10 credits available").waitFor()
    },
  )

  browserTest(
    "the console forgets an API key at once, even while it requests the credits",
    async (run) => {
      const { key, url } = await run(service(10))
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await page.getByText("10 credits available").waitFor()
      let release = () => {}
      const released = new Promise<void>((resolve) => (release = resolve))
      await page.route("**/v1/quota/**", async (route) => {
        await released
        await route.continue()
      })
      const answered = page.waitForResponse("**/v1/quota/**")
      await openKey(page)
      await page.getByRole("button", { name: "Refresh" }).click()
      await page.getByRole("button", { name: "Use another key" }).click()
      release()
      assert.strictEqual((await answered).status(), 200)
      // Wait one turn of the event loop, so that the page has processed the answer.
      await page.evaluate("new Promise((resolve) => setTimeout(resolve))")
      await page.getByLabel("API key").waitFor()
      assert.strictEqual(await page.getByText("credits available").count(), 0)
    },
  )

  browserTest("the console spends the last credits, and continues after a grant", async (run) => {
    const { account, books, key, ledger, url } = await run(service(70))
    const { examine, page } = await run(visit(url, "/console"))
    await useKey(page, key)
    await paste(page, sites(120))
    await start(page)
    await page.getByText("the run stops when the credits are spent").waitFor()
    await examine("balance")
    await page.getByRole("button", { name: "Check, at most 120 credits" }).click()
    await page.getByText("Out of credits.").waitFor()
    await page.getByText("50 addresses are left, and the account has 0 credits.").waitFor()
    assert.deepStrictEqual(await tally(page), ["70", "0", "50", "70"])
    await examine("out of credits")

    await run(ledger.grant(account, Credits.make(60), null))
    await page.getByRole("button", { name: "Continue" }).click()
    await heading(page, "Done: 120 addresses")
    await page.getByRole("button", { name: "Continue" }).waitFor(gone)
    await page.getByText("10 credits available").waitFor()
    assert.deepInclude(await run(books), { available: 10, held: 0, charged: 120 })
  })

  browserTest(
    "the console says why a batch must wait, and counts down to the retry",
    async (run) => {
      const { key, url } = await run(service())
      const { examine, page } = await run(visit(url, "/console"))
      await page.clock.install()
      const refusals = [
        { status: 429, message: "Slow down.", seconds: 90 },
        { status: 503, message: "The store is too busy.", seconds: 12 },
      ]
      await page.route(batches, (route) => {
        const refusal = refusals.shift()
        if (refusal === undefined) return route.continue()
        const { message, seconds, status } = refusal
        return route.fulfill({
          status,
          headers: { "retry-after": String(seconds) },
          json: { success: false, message },
        })
      })
      await useKey(page, key)
      await paste(page, sites(20))
      await start(page)
      await page.getByText("Slow down.").waitFor()
      await page.getByText(/Retrying in [78]\d seconds\./).waitFor()
      await examine("rate limit")
      await page.clock.runFor(60_000)
      await page.getByText(/Retrying in \d+ seconds?\./).waitFor()
      await page.clock.runFor(30_000)
      await page.getByText("The store is too busy.").waitFor()
      await page.getByText(/Retrying in \d+ seconds?\./).waitFor()
      await page.clock.runFor(12_000)
      await heading(page, "Done: 20 addresses")
    },
  )

  browserTest("the console pays only once for a batch whose first answer was lost", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    let isFirst = true
    await page.route(batches, async (route) => {
      if (!isFirst) return route.continue()
      isFirst = false
      await route.fetch()
      return route.abort("connectionreset")
    })
    await useKey(page, key)
    await paste(page, sites(20))
    await start(page)
    await heading(page, "Done: 20 addresses")
    assert.deepStrictEqual(await tally(page), ["20", "0", "0", "20"])
    assert.strictEqual((await run(books)).charged, 20)
  })

  browserTest(
    "the console says that the device is offline, and continues when it is online",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await page.getByText("credits available").waitFor()
      await paste(page, sites(60))
      await page.context().setOffline(true)
      await start(page)
      await page.getByText("This device is offline.").first().waitFor()
      await page.context().setOffline(false)
      await heading(page, "Done: 60 addresses")
    },
  )

  browserTest(
    "the console can continue a run that the user stopped or whose key was revoked",
    async (run) => {
      const { account, books, key, keyId, keys, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await paste(page, sites(400))
      const { open: goOn } = await gate(page, 1)
      await start(page)
      await page.locator(".left").getByText("350").waitFor()
      await page.getByRole("button", { name: "Stop" }).click()
      // After a stop, the console requests the available credits, so the key must still be valid.
      const refreshed = page.waitForResponse("**/v1/quota/available-credits")
      goOn()
      await heading(page, /^Stopped: \d+ of 400 addresses left to check/)
      await refreshed
      await page.unroute(batches)

      await run(keys.revoke(keyId))
      const other = await run(keys.issue({ account }))
      await page.getByRole("button", { name: "Continue" }).click()
      await page.getByText("The key is no longer accepted.").waitFor()
      await enter(page, Redacted.value(other.key))
      await page.getByText("credits available").waitFor()
      await page.getByRole("button", { name: "Continue" }).click()
      await heading(page, "Done: 400 addresses")
      assert.deepInclude(await run(books), { held: 0, charged: 400 })
    },
  )

  browserTest(
    "the console accepts a dropped or chosen file, and can check failed URLs again",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      const csv = "id,url\n1,a.com\n2,b.com\n3,a.com\n4,provider-error.example.com\n"
      await page
        .getByLabel("Choose a file")
        .setInputFiles({ name: "sites.csv", mimeType: "text/csv", buffer: Buffer.from(csv) })
      await page.getByText("4 addresses · from the column “url” · 1 duplicate").waitFor()
      await start(page)
      await heading(page, "Done: 4 addresses")
      const retried = page.waitForRequest(batches)
      await page.getByRole("button", { name: /^Retry the failed address/ }).click()
      await heading(page, "Done: 4 addresses")
      const again = (await retried).postData()
      assert.strictEqual(again, '{"urls":["provider-error.example.com"]}')

      await edit(page)
      await page.getByRole("button", { name: "Remove" }).click()
      const drop = (...names: ReadonlyArray<string>) =>
        page.evaluate(`{
              const files = new DataTransfer()
              for (const name of ${JSON.stringify(names)}) {
                files.items.add(new File(["c.com\\nd.com"], name))
              }
              document.getElementById("list").dispatchEvent(
                new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }),
              )
            }`)
      await drop("one.txt", "two.txt")
      await page.getByText("Drop one.txt or two.txt alone").waitFor()
      await drop("dropped.txt")
      await page.getByText("dropped.txt").waitFor()
      await page.getByRole("button", { name: "Check 2 addresses" }).waitFor()
    },
  )

  browserTest(
    "at a zoom of 200 %, long names of files and columns still fit the console",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console", { viewport: { width: 640, height: 400 } }))
      await useKey(page, key)
      await page.getByLabel("Choose a file").setInputFiles({
        name: `${"n".repeat(196)}.csv`,
        mimeType: "text/csv",
        buffer: Buffer.from(
          [`url,${"note ".repeat(40)}`, ...sites(30).map((site) => `${site},one`)].join("\n"),
        ),
      })
      await start(page)
      await heading(page, "Done: 30 addresses")
      assert.isAtMost(await widthOf(page), 640)
      const header = await page.locator(".results thead").boundingBox()
      assert.isAtMost(header?.height ?? Infinity, 60)
      // When the user moves up with the keyboard, the header must not cover the focused element.
      await page.locator(".results tbody a").last().focus()
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Shift+Tab")
        const focused = await page.locator(":focus").boundingBox()
        const head = await page.locator(".results thead th").first().boundingBox()
        assert.isAtLeast(focused?.y ?? -1, (head?.y ?? 0) + (head?.height ?? 0))
      }
    },
  )

  browserTest(
    "after a reload in the middle of a run, the console pays for nothing twice",
    async (run) => {
      const { books, key, url } = await run(service())
      const { examine, page } = await run(visit(url, "/console"))
      await useKey(page, key)
      // The service charges three batches, but the browser receives only the first answer.
      let [seen, unanswered] = [0, 0]
      await page.route(batches, async (route) => {
        if (++seen === 1) return route.continue()
        await route.fetch()
        unanswered++
      })
      await paste(page, sites(120))
      await start(page)
      await page.locator(".done").getByText("50", { exact: true }).waitFor()
      while (unanswered < 2) await page.waitForTimeout(20)
      assert.deepInclude(await run(books), { charged: 120 })
      // Reload before `unroute`, because `unroute` would let the two held answers reach the page.
      await page.reload()
      await page.unroute(batches)
      await page.getByLabel("API key").fill(key)
      await paste(page, sites(120))
      await start(page)
      await heading(page, "Done: 120 addresses")
      assert.deepStrictEqual(await tally(page), ["120", "0", "0", "70"])
      assert.deepInclude(await run(books), { available: 880, held: 0, charged: 120 })
      await openKey(page)
      await page.getByRole("button", { name: "Delete everything" }).click()
      await examine("delete")
      await page.getByRole("button", { name: "Cancel" }).click()
      assert.lengthOf(await shown(page), 120)
    },
  )

  browserTest(
    "the console does not store the API key, and shows HTML in a URL as text",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      const hostile = [
        "javascript:alert(1)",
        "https://example.com/&lt;svg/onload=alert(1)//",
        "=HYPERLINK('https://evil.example','x')",
        "evil.com",
      ]
      await paste(page, hostile)
      await start(page)
      await heading(page, "Done: 4 addresses")
      assert.sameMembers(await shown(page), hostile)

      const kept = await page.evaluate(
        "JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])",
      )
      const stored = await page.evaluate(everythingInIndexedDb)
      assert.include(String(stored), "evil.com")
      assert.notInclude(`${String(kept)}${String(stored)}`, key.slice(8))
    },
  )

  browserTest(
    "the console explains the figures before the first run, and offers a sample",
    async (run) => {
      const { key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await heading(page, "What the figures mean")
      await page.getByRole("button", { name: "Try a sample" }).click()
      await page.locator("#key:focus").waitFor()
      await useKey(page, key)
      await page.locator("#list:focus").waitFor()
      await page.keyboard.press("Control+Enter")
      await heading(page, "Done: 6 addresses")
      assert.deepStrictEqual(await tally(page), ["5", "1", "0", "5"])
    },
  )

  browserTest("the console can be used with the keyboard alone", async (run) => {
    const { key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await page.getByLabel("API key").focus()
    await page.keyboard.type(key)
    await page.keyboard.press("Enter")
    await page.locator("#list:focus").waitFor()
    await page.keyboard.type("a.com")
    while (!(await isFocused(page, "Check 1 address"))) {
      await page.keyboard.press("Tab")
    }
    await page.keyboard.press("Enter")
    await heading(page, "Done: 1 address")
    while (!(await isFocused(page, "Spam score"))) {
      await page.keyboard.press("Tab")
    }
    await page.keyboard.press("Enter")
    await page.locator("th[aria-sort=descending]", { hasText: "Spam" }).waitFor()
  })

  browserTest("the keyboard keeps its place when a pressed button disappears", async (run) => {
    const { key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    const { hasFocus, press } = keyboardOf(page)
    await useKey(page, key)
    await openKey(page)
    await press("Refresh")
    await hasFocus("[aria-disabled=false]", "Refresh")
    await page.keyboard.press("Escape")
    await hasFocus("[aria-expanded=false]", "credits available")
    await paste(page, sites(120))
    const { open: goOn } = await gate(page, 1)
    await press("Check 120 addresses")
    await hasFocus("h2", "Checking 120 addresses")
    goOn()
    await heading(page, "Done: 120 addresses")
    // The header cell of each row is its address.
    await page.getByRole("rowheader", { name: "site-0.com" }).waitFor()

    await page.getByLabel("Filter by address").fill("nothing")
    await press("Show all")
    await hasFocus("h2", "Results")
    await press("Check all anew")
    await press("Check, at most")
    await page.getByText("760 credits available").waitFor()
    await hasFocus("h2", "Done: 120 addresses")
    await press("Edit list")
    await hasFocus("[aria-expanded=true]", "Fold list")
    await press("What does it cost?")
    await page.locator(".plan[open]").waitFor()
    await press("Close")
    await hasFocus("h2", "Done: 120 addresses")
    await openKey(page)
    await press("Use another key")
    await page.locator("#key:focus").waitFor()
  })

  browserTest("the console is readable with forced colors and in print", async (run) => {
    const { key, url } = await run(service())
    const { page } = await run(visit(url, "/console", { forcedColors: "active" }))
    const styleOf = (selector: string, property: "backgroundColor" | "textDecorationLine") =>
      page.evaluate(`getComputedStyle(document.querySelector("${selector}")).${property}`)
    const checked = ".themes :checked + span"
    assert.strictEqual(await styleOf(checked, "textDecorationLine"), "underline")
    await useKey(page, key)
    await paste(page, ["a.com"])
    await start(page)
    await heading(page, "Done: 1 address")
    for (const bar of [".progress .done", ".bars :enabled .column", "td .track span"]) {
      assert.notStrictEqual(
        await styleOf(bar, "backgroundColor"),
        await styleOf("body", "backgroundColor"),
      )
    }
    await page.getByTitle("Dark").click()
    await page.goto(`${url}/docs/guide/operating`)
    await page.emulateMedia({ forcedColors: "none", media: "print" })
    const ofPre = (property: string) =>
      page.evaluate(`getComputedStyle(document.querySelector("pre")).${property}`)
    assert.strictEqual(await ofPre("colorScheme"), "light")
    assert.strictEqual(await ofPre("whiteSpace"), "pre-wrap")
  })

  browserTest("the chosen theme is kept after a reload, and applies in the guide", async (run) => {
    const { url } = await run(service())
    const { examine, page } = await run(visit(url, "/console", { colorScheme: "light" }))
    const paper = (page: Page) =>
      page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    const light = await paper(page)
    await page.getByTitle("Dark").click()
    const dark = await paper(page)
    assert.notStrictEqual(dark, light)
    await page.goto(`${url}/docs/guide/client`)
    assert.strictEqual(await paper(page), dark)
    await examine("guide")
    await page.goto(`${url}/console`)
    assert.strictEqual(await paper(page), dark)
    await page.getByTitle("As the system").click()
    assert.strictEqual(await paper(page), light)
  })
})

describe.skipIf(isMissing)("the documentation pages", () => {
  browserTest("the API reference sends a request, and links to the guide", async (run) => {
    const { key, url } = await run(service())
    const { page } = await run(visit(url, "/docs"))
    await page.getByPlaceholder(/^QUx/).filter({ visible: true }).fill(key)
    await page.getByRole("button", { name: "Test Request" }).first().click()
    const answer = page.waitForResponse(`${url}/v1/metrics/da-pa/batch`)
    await page.getByRole("button", { name: "Send" }).first().click()
    assert.strictEqual((await answer).status(), 200)
    await page.reload()
    await page.getByRole("tab", { name: "Status: 400" }).first().waitFor()
    await examineContrast(page)
    await page.getByRole("link", { name: "Guide" }).click()
    await heading(page, "Clients and long lists")
  })

  browserTest("the guide is complete without JavaScript", async (run) => {
    const { url } = await run(service())
    const options = { javaScriptEnabled: false }
    const { page } = await run(visit(url, "/docs/guide/operating", options))
    await heading(page, "The settings")
    const contents = page.getByRole("navigation", { name: "On this page" })
    await contents.getByRole("link", { name: "The settings" }).click()
    await page.waitForURL(`${url}/docs/guide/operating#the-settings`)
    await page.getByRole("link", { name: "Monitoring" }).first().waitFor()
  })
})
