/** Tests the console in a real browser, with the service in the process of the test. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AuthorityMetrics } from "../../src/client/PromiseClient.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import * as memory from "../support/memory.ts"
import { type Figures, MetricsCache } from "../../src/providers/figures/MetricsCache.ts"
import { examineContrast, isMissing, keyboardOf, visit } from "../support/Browser.ts"
import {
  timeout,
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
} from "../support/ConsolePage.ts"
import { fixtures } from "../support/lists.ts"
import { start as startServer } from "../support/TestServer.ts"

/** A service with an account that has these credits. Its figures are synthetic. */
const service = (credits = 1000) => startServer({ credits, hasSyntheticFigures: true })

/** What the plan says about the addresses, without those that it does not have. */
const planShown = async (page: Page) => {
  await page.locator(".plan[open] tbody").waitFor()
  const rows = await page.locator(".plan tbody tr").allInnerTexts()
  return rows.map((row) => row.split("\t").join(" "))
}

/** What each row of a list has of the service, whoever asked. */
const factsOf = (rows: ReadonlyArray<object>) =>
  rows.map((row) =>
    Object.entries(row)
      .filter(([name]) => /^(url|.*Authority|spamScore|reason)$/.test(name))
      .sort(),
  )

/** The date so many days ago. */
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** Figures of a.com that a provider gave on a date. */
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
  it.scopedLive(
    "the console checks 120 pasted URLs and shows the progress and each outcome",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* examine("empty")
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.getByText("1,000 credits available").waitFor())
        yield* act((page) => paste(page, mixed))
        yield* examine("list")

        const { open: goOn } = yield* act((page) => gate(page, 2))
        yield* act(start)
        yield* act((page) => heading(page, "Checking 120 addresses"))
        const progress = yield* act(async (page) => page.getByRole("progressbar"))
        yield* act((page) => page.locator(".done").getByText("100").waitFor())
        assert.strictEqual(
          yield* Effect.promise(() => progress.getAttribute("aria-valuetext")),
          "103 of 120",
        )
        yield* examine("running")
        goOn()

        yield* act((page) => heading(page, "Done: 120 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["115", "5", "0", "115"])
        yield* act((page) => page.getByText("885 credits available").waitFor())
        yield* examine("done")

        yield* act((page) => page.getByLabel("Show").selectOption("Not checked"))
        assert.deepStrictEqual(yield* act(shown), Object.keys(failing))
        const chips = yield* act((page) => page.locator("td.why .reason").allInnerTexts())
        assert.deepStrictEqual(
          chips.map((text) => text.split("\n")[0]),
          Object.values(failing),
        )
        yield* act((page) => page.locator("td.why .reason").first().focus())
        const tip = yield* act((page) =>
          page.evaluate('getComputedStyle(document.querySelector(".reason:focus .tip")).opacity'),
        )
        assert.strictEqual(tip, "1")
        yield* examine("failures")
      }),
    timeout,
  )

  it.scopedLive(
    "the console sorts, filters and exports the results, and marks synthetic figures",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, mixed))
        yield* act(start)
        yield* act((page) => heading(page, /^Done/))
        const head = page.getByRole("columnheader", { name: "Domain authority" })
        assert.strictEqual(
          yield* Effect.promise(() => head.getAttribute("aria-sort")),
          "descending",
        )
        const figures = (yield* act((page) =>
          page.locator("td.domainAuthority .value").allInnerTexts(),
        )).map(Number)
        assert.lengthOf(figures, 115)
        assert.deepStrictEqual(
          figures,
          figures.toSorted((a, b) => b - a),
        )
        assert.deepStrictEqual((yield* act(shown)).slice(-5), Object.keys(failing))
        // Exports keep the order of the list until the user sorts the table.
        const all = yield* act((page) => downloaded(page, "Export all as CSV"))
        assert.deepStrictEqual(
          all.text
            .split("\r\n")
            .slice(1, -1)
            .map((line) => line.split(",")[0]),
          mixed,
        )

        yield* act((page) => page.getByLabel("Filter by address").fill("SITE-11"))
        yield* act((page) => page.getByText("6 of 120 addresses").waitFor())
        const { name, text } = yield* act((page) => downloaded(page, "Export these 6 as CSV"))
        assert.match(name, /^authority-synthetic-\d{4}-\d\d-\d\d\.csv$/)
        const [top, ...lines] = text.trim().split("\r\n")
        assert.match(
          top ?? "",
          /^url,domainAuthority,pageAuthority,spamScore,reason,provider,source/,
        )
        assert.deepStrictEqual(
          lines.map((line) => line.split(",")[0]).sort(),
          ["site-11.com", ...[0, 1, 2, 3, 4].map((n) => `site-11${n}.com`)].sort(),
        )
        for (const line of lines) {
          assert.match(line, /^site-\d+\.com,\d+,\d+,\d+,,sandbox,bought,\d{4}-\d\d-\d\dT/)
        }
        yield* act((page) => page.getByText("They say nothing about real sites").waitFor())

        yield* act((page) => page.getByLabel("Filter by address").fill(""))
        const bar = page.getByRole("button", { name: /from 0 / }).first()
        const count = Number.parseInt(yield* Effect.promise(() => bar.innerText()))
        yield* act(() => bar.click())
        yield* act((page) => page.getByText(`${count} of 120 addresses`).waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "a bar filters the console's table, which exports the shown rows and keeps its header visible",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, examine, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, mixed))
        yield* act(start)
        yield* act((page) => heading(page, /^Done/))

        const bars = page.getByRole("group", { name: "Domain authority: how many" })
        yield* act(() => bars.getByRole("button", { name: /from 10 / }).click())
        yield* act((page) => page.getByRole("columnheader", { name: "No." }).click())
        const { text } = yield* act((page) => downloaded(page, "as JSON"))
        const found: ReadonlyArray<{ url: string; domainAuthority: number }> = JSON.parse(text)
        assert.isAbove(found.length, 0)
        for (const { domainAuthority } of found) {
          assert.isAtLeast(domainAuthority, 10)
          assert.isBelow(domainAuthority, 20)
        }
        assert.deepStrictEqual(
          yield* act(shown),
          found.map(({ url }) => url),
        )
        yield* examine("bar")
        yield* act((page) => page.getByRole("button", { name: `Copy these` }).click())
        yield* act((page) => page.getByText(`Copied ${found.length} addresses.`).waitFor())
        const copied = String(yield* act((page) => page.evaluate("navigator.clipboard.readText()")))
        assert.deepStrictEqual(
          copied.split("\n").map((line) => line.split("\t")[0]),
          ["url", ...found.map(({ url }) => url)],
        )
        yield* act((page) => page.getByRole("button", { name: "remove this filter" }).click())
        yield* act((page) => page.getByText("120 addresses", { exact: true }).last().waitFor())

        const head = page.getByRole("columnheader", { name: "Spam score" })
        yield* act(() => page.locator("tbody tr").nth(60).scrollIntoViewIfNeeded())
        yield* act((page) => page.evaluate("scrollBy(0, 400)"))
        const top = yield* act((page) => page.locator(".top").boundingBox())
        assert.strictEqual(top?.y, 0)
        const place = yield* Effect.promise(() => head.boundingBox())
        assert.closeTo(place?.y ?? 0, top?.height ?? 0, 2)
      }),
    timeout,
  )

  it.scopedLive(
    "the console's charts show every range of the three figures",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, mixed))
        yield* act(start)
        yield* act((page) => heading(page, /^Done/))
        for (const name of ["Domain authority", "Page authority", "Spam score"]) {
          const bars = page.getByRole("group", { name: `${name}: how many` }).getByRole("button")
          const names = yield* act(() => bars.allInnerTexts())
          assert.lengthOf(names, 10)
          const total = names.reduce((sum, text) => sum + Number.parseInt(text), 0)
          assert.strictEqual(total, 115, name)
        }
        const share = page.getByRole("region", { name: "Spam score" }).getByText("above 30")
        assert.match(yield* act(() => share.innerText()), /^median \d+ · \d+% above 30$/)
      }),
    timeout,
  )

  it.scopedLive(
    "the console links to each page, and each address has one line, which is whole while it is focused",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        const long = `https://the-customer-portal-of-an-agency.example.org/${"second/".repeat(20)}end`
        const host = `${`${"label".repeat(8)}.`.repeat(4)}org`
        yield* act((page) => paste(page, ["a.com", "https://b.com/page", "localhost", long, host]))
        yield* act(start)
        yield* act((page) => heading(page, /^Done/))
        const link = page.getByRole("link", { name: "Open https://b.com/page in a new tab" })
        assert.strictEqual(yield* act(() => link.getAttribute("href")), "https://b.com/page")
        assert.strictEqual(yield* act((page) => page.locator("td.url a").count()), 4)
        for (const width of [390, 1024, 1440, 1920]) {
          yield* act((page) => page.setViewportSize({ width, height: 900 }))
          const heights = yield* act((page) =>
            page
              .locator(".results tbody tr")
              .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height)),
          )
          assert.isTrue(
            heights.every((height) => height < 40),
            `${width} px: ${heights}`,
          )
          const wide = yield* act((page) =>
            page.evaluate<number>("document.documentElement.scrollWidth"),
          )
          assert.isAtMost(wide, width)
        }
        yield* act((page) => page.getByRole("link", { name: `Open ${long}` }).focus())
        const head = page.locator("tr:focus-within .head")
        assert.isTrue(
          yield* act(() => head.evaluate((text) => text.scrollWidth <= text.clientWidth + 1)),
        )
      }),
    timeout,
  )

  it.scopedLive(
    "a long list scrolls by a window of rows, to its end and with the keyboard",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service(5000)
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.getByLabel("Ask before a check").fill("5000"))
        yield* act((page) => paste(page, sites(3000)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 3,000 addresses"))
        yield* act((page) => page.getByRole("columnheader", { name: "No." }).click())
        const inPage = () => act(() => page.locator(".results [aria-rowindex]").count())
        assert.isBelow(yield* inPage(), 200)
        yield* act((page) => page.evaluate("scrollTo(0, document.body.scrollHeight)"))
        yield* act((page) => page.getByRole("rowheader", { name: "site-2999.com" }).waitFor())
        assert.isBelow(yield* inPage(), 200)
        yield* act((page) => page.evaluate("scrollTo(0, 0)"))
        yield* act((page) => page.getByRole("link", { name: "Open site-0.com in" }).focus())
        for (let i = 0; i < 300; i++) yield* act((page) => page.keyboard.press("Tab"))
        const focused = yield* act((page) => page.locator(":focus").getAttribute("aria-label"))
        assert.strictEqual(focused, "Open site-150.com in a new tab")
      }),
    timeout,
  )

  it.scopedLive(
    "a long list that is pasted over the text of the list field replaces it",
    () =>
      Effect.gen(function* () {
        const { url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("Domains or pages").fill("old.com\nolder.com"))
        yield* act((page) => page.getByLabel("Domains or pages").press("Control+A"))
        yield* act((page) => paste(page, sites(9000)))
        yield* act((page) => page.getByRole("button", { name: "Check 9,000 addresses" }).waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the console draws the history of an address with the figures of its own run, a line per provider, marks and a table, and fits a phone",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* startServer({ figures: pastFigures })
        const { act, examine, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, ["a.com", "b.com", "localhost"]))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 3 addresses"))
        const open = (name: string) =>
          act((page) => page.getByRole("button", { name: `History of ${name}` }).click())
        const close = act((page) => page.getByRole("button", { name: "Close" }).click())
        assert.strictEqual(
          yield* act((page) => page.getByRole("button", { name: /^History of/ }).count()),
          2,
        )

        yield* open("a.com")
        const plot = page.getByRole("img", { name: /^Domain authority over time/ })
        yield* act(() => plot.waitFor())
        yield* act((page) => page.getByRole("status").getByText("4 observations").waitFor())
        const drawn = (what: string) => act(() => plot.locator(what).count())
        assert.strictEqual(yield* drawn(".stroke"), 3)
        assert.strictEqual(yield* drawn(".point"), 4)
        assert.strictEqual(yield* drawn(".change"), 1)
        const dates = yield* act((page) => page.locator(".past .dates").first().innerText())
        assert.deepStrictEqual(dates.split(/\s+/), [ago(99), ago(50), ago(0)])
        const table = page.getByRole("group", { name: "Newest first" })
        const rows = (yield* act(() => table.getByRole("row").allInnerTexts())).slice(1)
        const [own, ...past] = rows.map((row) => row.split("\t").slice(2).join())
        assert.match(own ?? "", /^sandbox,/)
        assert.deepStrictEqual(past, [
          "moz,44.5,30,autumn (was spring)",
          `openpagerank,51,30,${ago(40)}`,
          "moz,40,30,spring",
        ])
        yield* examine("history")
        yield* act((page) => page.setViewportSize({ width: 390, height: 844 }))
        assert.strictEqual(
          yield* act((page) => page.evaluate("document.documentElement.scrollWidth")),
          390,
        )
        const [wide, inside] = yield* act((page) =>
          page
            .getByRole("dialog")
            .evaluate(({ clientWidth, scrollWidth }) => [scrollWidth, clientWidth]),
        )
        assert.strictEqual(wide, inside)
        yield* act((page) => page.keyboard.press("Escape"))
        yield* act((page) => page.getByRole("dialog").waitFor(gone))
        assert.isTrue(yield* act((page) => isFocused(page, "History of a.com")))

        yield* open("b.com")
        yield* act((page) => page.getByRole("status").getByText("1 observation").waitFor())
        yield* close
        const history = "**/v1/metrics/da-pa/history?*"
        yield* act((page) => page.route(history, (route) => route.fulfill({ status: 500 })))
        yield* open("b.com")
        yield* act((page) => page.locator("dialog .problem").waitFor())
        yield* close
        yield* act(openKey)
        yield* act((page) => page.getByRole("button", { name: "Use another key" }).click())
        yield* open("a.com")
        yield* act((page) => page.getByText("The history needs a key.").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the console exports all columns of an uploaded CSV, and lets the user choose the URL column",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        const csv =
          'id,url,rival,note\n1,a.com,x.com,"one, two"\n2,b.com,y.com,=1+1\n3,c.com,x.com,\n'
        const choose = (text: string) => (page: Page) =>
          page
            .getByLabel("Choose a file")
            .setInputFiles({ name: "sites.csv", mimeType: "text/csv", buffer: Buffer.from(text) })
        yield* act(choose(csv.replace('two"', "two")))
        yield* act((page) => page.getByRole("button", { name: "Check", exact: true }).click())
        yield* act((page) => page.getByText("sites.csv has a quote in line 2").waitFor())
        yield* act((page) => page.getByRole("button", { name: "Remove" }).click())
        yield* act(choose(csv))
        yield* act((page) => page.getByText("3 addresses · from the column “url”").waitFor())
        yield* act((page) => page.getByLabel("Addresses are in").selectOption("rival"))
        yield* act((page) =>
          page.getByText("3 addresses · from the column “rival” · 1 duplicate").waitFor(),
        )
        yield* examine("column")
        yield* act(start)
        yield* act((page) => heading(page, "Done: 3 addresses"))
        yield* act((page) => page.getByRole("columnheader", { name: "No." }).click())
        assert.deepStrictEqual(yield* act(shown), ["x.com", "y.com", "x.com"])
        for (const width of [900, 1001, 1440, 1920]) {
          yield* act((page) => page.setViewportSize({ width, height: 900 }))
          const address = yield* act((page) => page.locator("th.url").boundingBox())
          assert.isAbove(address?.width ?? 0, 150, `the addresses at ${width} px`)
        }
        yield* act((page) => page.setViewportSize({ width: 1280, height: 900 }))
        const { text } = yield* act((page) => downloaded(page, "Export all as CSV"))
        const [top, ...lines] = text.trim().split("\r\n")
        assert.match(top ?? "", /^id,url,rival,note,domainAuthority,.*,index,of,cause,detail$/)
        assert.deepStrictEqual(
          lines.map((line) => line.replace(/,\d+,\d+,\d+,,sandbox,.*/, "")),
          ['1,a.com,x.com,"one, two"', `2,b.com,y.com,"'=1+1"`, "3,c.com,x.com,"],
        )
      }),
    timeout,
  )

  it.scopedLive(
    "the console reads the same lists in a browser as authority check does, and names what each costs",
    () =>
      Effect.gen(function* () {
        const price = 2
        const { books, key, url } = yield* startServer({ price, hasSyntheticFigures: true })
        const { act, page } = yield* visit(url, "/console")
        const client = AuthorityMetrics({ baseUrl: url, apiKey: key })
        yield* act((page) => useKey(page, key))
        const files = fixtures.filter(({ urls }) => urls.length > 0)
        for (const { column, content, isGuessed = false, urls, ...fixture } of files) {
          const buffer = Buffer.from(content)
          const from =
            column === undefined
              ? ""
              : ` · from ${/^column \d$/.test(column) ? column : `the column “${column}”`}`
          yield* act(() =>
            page
              .getByLabel("Choose a file")
              .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer }),
          )
          const equal = urls.length - new Set(urls).size
          const shown =
            `${urls.length} ${urls.length === 1 ? "address" : "addresses"}${from}` +
            (equal === 0 ? "" : ` · ${equal} duplicate`) +
            (isGuessed ? " · read as Windows-1252, not UTF-8" : "")
          yield* act(() => page.getByText(shown, { exact: true }).last().waitFor())

          const { duplicates, guessed, name, targets } = fixture
          if (guessed !== undefined) {
            yield* act(() => page.getByRole("button", { name: "What does it cost?" }).click())
            yield* act(() => page.getByText("Confirm the hosts that were guessed").waitFor())
            yield* act(() => page.getByLabel("are right").check())
          }
          const before = yield* books
          yield* act(() => page.getByRole("button", { name: "What does it cost?" }).click())
          const asked = page.getByRole("group", { name: "Before anything is paid" })
          yield* act(() => asked.waitFor())
          const invalid = urls.length - targets - duplicates
          const plan = (yield* act(planShown)).filter((row) => !row.startsWith("answered"))
          const free = [
            ...(duplicates === 0 ? [] : [`duplicates ${duplicates} 0`]),
            ...(invalid === 0 ? [] : [`invalid ${invalid} 0`]),
          ]
          assert.deepStrictEqual(plan.slice(0, free.length), free, name)
          const costs = `This start costs at most ${targets * price} credit`
          if (targets > 0) yield* act(() => asked.getByText(costs).waitFor())
          assert.deepStrictEqual(yield* books, before, name)
          yield* act(() => asked.getByRole("button", { name: /^(Check|Close)/ }).click())
          yield* act((page) => heading(page, `Done: ${urls.length} address`))
          const { text } = yield* act((page) => downloaded(page, "Export all as JSON"))
          const paid = (yield* books).charged - before.charged
          assert.strictEqual(paid, targets * price, name)
          const { outcomes } = yield* Effect.promise(() => client.check(urls))
          assert.deepStrictEqual(factsOf(JSON.parse(text)), factsOf(outcomes), name)
          // The next list has some of the same addresses.
          yield* act(openKey)
          yield* act(() => page.getByRole("button", { name: "Delete everything" }).click())
          yield* act(() => page.getByRole("button", { name: "Delete permanently" }).click())
          yield* act((page) => useKey(page, key))
          yield* act(edit)
          yield* act(() => page.getByRole("button", { name: "Remove" }).click())
        }
        const unclear = Buffer.from("from,to\na.com,b.com\n")
        yield* act(() =>
          page
            .getByLabel("Choose a file")
            .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: unclear }),
        )
        yield* act(() => page.getByRole("button", { name: "Check", exact: true }).click())
        yield* act(() => page.getByText("Choose the column that has the addresses.").waitFor())
        yield* act(() => page.getByLabel("Addresses are in").selectOption("to"))
        yield* act(() => page.getByText("1 address · from the column “to”").waitFor())
        yield* act(() => page.getByRole("button", { name: "Remove" }).click())
        yield* act(() =>
          page
            .getByLabel("Choose a file")
            .setInputFiles({ name: "a.xlsx", mimeType: "", buffer: Buffer.from("PK\x03\x04") }),
        )
        yield* act(() => page.getByText("a.xlsx is a workbook").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the console reports a wrong API key, and text that cannot be an API key",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service(10)
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => paste(page, sites(3)))
        yield* act(start)
        yield* act((page) => page.getByText("Enter a key first.").waitFor())
        for (const wrong of ["ключ", `${key.slice(0, -1)}!`]) {
          yield* act((page) => enter(page, wrong))
          yield* act((page) => page.getByText("This key is not accepted").waitFor())
        }
        yield* examine("wrong key")
        yield* act((page) => enter(page, ` ${key} `))
        yield* act((page) => page.getByText("10 credits available").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the console forgets an API key at once, even while it requests the available credits",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service(10)
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.getByText("10 credits available").waitFor())
        const answered = yield* act(async (page) => {
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
          return (await answered).status()
        })
        assert.strictEqual(answered, 200)
        // Wait one turn of the event loop, so that the page has processed the answer.
        yield* act((page) => page.evaluate("new Promise((resolve) => setTimeout(resolve))"))
        yield* act((page) => page.getByLabel("API key").waitFor())
        assert.strictEqual(yield* act((page) => page.getByText("credits available").count()), 0)
      }),
    timeout,
  )

  it.scopedLive(
    "the console spends the last credits, and continues after a grant of more credits",
    () =>
      Effect.gen(function* () {
        const { account, books, key, ledger, url } = yield* service(70)
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, sites(120)))
        yield* act(start)
        yield* act((page) => page.getByText("the run stops when the credits are spent").waitFor())
        yield* examine("balance")
        yield* act((page) =>
          page.getByRole("button", { name: "Check, at most 120 credits" }).click(),
        )
        yield* act((page) => page.getByText("Out of credits.").waitFor())
        yield* act((page) =>
          page.getByText("50 addresses are left, and the account has 0 credits.").waitFor(),
        )
        assert.deepStrictEqual(yield* act(tally), ["70", "0", "50", "70"])
        yield* examine("out of credits")

        yield* ledger.grant(account, Credits.make(60), null)
        yield* act((page) => page.getByRole("button", { name: "Continue" }).click())
        yield* act((page) => heading(page, "Done: 120 addresses"))
        yield* act((page) => page.getByRole("button", { name: "Continue" }).waitFor(gone))
        yield* act((page) => page.getByText("10 credits available").waitFor())
        assert.deepInclude(yield* books, { available: 10, held: 0, charged: 120 })
      }),
    timeout,
  )

  it.scopedLive(
    "the console says why a batch must wait, and counts down to the retry",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => page.clock.install())
        const refusals = [
          { status: 429, message: "Slow down.", seconds: 90 },
          { status: 503, message: "The store is too busy.", seconds: 12 },
        ]
        yield* act((page) =>
          page.route(batches, (route) => {
            const refusal = refusals.shift()
            if (refusal === undefined) return route.continue()
            const { message, seconds, status } = refusal
            return route.fulfill({
              status,
              headers: { "retry-after": String(seconds) },
              json: { success: false, message },
            })
          }),
        )
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, sites(20)))
        yield* act(start)
        yield* act((page) => page.getByText("Slow down.").waitFor())
        yield* act((page) => page.getByText(/Retrying in [78]\d seconds\./).waitFor())
        yield* examine("rate limit")
        yield* act((page) => page.clock.runFor(60_000))
        yield* act((page) => page.getByText(/Retrying in \d+ seconds?\./).waitFor())
        yield* act((page) => page.clock.runFor(30_000))
        yield* act((page) => page.getByText("The store is too busy.").waitFor())
        yield* act((page) => page.getByText(/Retrying in \d+ seconds?\./).waitFor())
        yield* act((page) => page.clock.runFor(12_000))
        yield* act((page) => heading(page, "Done: 20 addresses"))
      }),
    timeout,
  )

  it.scopedLive(
    "the console pays only once for a batch whose first answer was lost",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        let isFirst = true
        yield* act((page) =>
          page.route(batches, async (route) => {
            if (!isFirst) return route.continue()
            isFirst = false
            await route.fetch()
            return route.abort("connectionreset")
          }),
        )
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, sites(20)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 20 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["20", "0", "0", "20"])
        assert.strictEqual((yield* books).charged, 20)
      }),
    timeout,
  )

  it.scopedLive(
    "the console reports that the device is offline, and continues when it is online again",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.getByText("credits available").waitFor())
        yield* act((page) => paste(page, sites(60)))
        yield* act((page) => page.context().setOffline(true))
        yield* act(start)
        yield* act((page) => page.getByText("This device is offline.").first().waitFor())
        yield* act((page) => page.context().setOffline(false))
        yield* act((page) => heading(page, "Done: 60 addresses"))
      }),
    timeout,
  )

  it.scopedLive(
    "the console can continue a run that the user stopped or whose key was revoked",
    () =>
      Effect.gen(function* () {
        const { account, books, key, keyId, keys, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, sites(400)))
        const { open: goOn } = yield* act((page) => gate(page, 1))
        yield* act(start)
        yield* act((page) => page.locator(".left").getByText("350").waitFor())
        yield* act((page) => page.getByRole("button", { name: "Stop" }).click())
        // After a stop the console asks for the credits, for which the key must still be valid.
        yield* act(async (page) => {
          const refreshed = page.waitForResponse("**/v1/quota/available-credits")
          goOn()
          await heading(page, /^Stopped: \d+ of 400 addresses left to check/)
          await refreshed
          await page.unroute(batches)
        })

        yield* keys.revoke(keyId)
        const other = yield* keys.issue({ account })
        yield* act((page) => page.getByRole("button", { name: "Continue" }).click())
        yield* act((page) => page.getByText("The key is no longer accepted.").waitFor())
        yield* act((page) => enter(page, Redacted.value(other.key)))
        yield* act((page) => page.getByText("credits available").waitFor())
        yield* act((page) => page.getByRole("button", { name: "Continue" }).click())
        yield* act((page) => heading(page, "Done: 400 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 400 })
      }),
    timeout,
  )

  it.scopedLive(
    "the console accepts a dropped or chosen file, and can check failed URLs again",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        const csv = "id,url\n1,a.com\n2,b.com\n3,a.com\n4,provider-error.example.com\n"
        yield* act((page) =>
          page
            .getByLabel("Choose a file")
            .setInputFiles({ name: "sites.csv", mimeType: "text/csv", buffer: Buffer.from(csv) }),
        )
        yield* act((page) =>
          page.getByText("4 addresses · from the column “url” · 1 duplicate").waitFor(),
        )
        yield* act(start)
        yield* act((page) => heading(page, "Done: 4 addresses"))
        const again = yield* act(async (page) => {
          const [request] = await Promise.all([
            page.waitForRequest(batches),
            page.getByRole("button", { name: /^Retry the failed address/ }).click(),
          ])
          await heading(page, "Done: 4 addresses")
          return request.postData()
        })
        assert.strictEqual(again, '{"urls":["provider-error.example.com"]}')

        yield* act(edit)
        yield* act((page) => page.getByRole("button", { name: "Remove" }).click())
        const drop = (...names: ReadonlyArray<string>) =>
          act((page) =>
            page.evaluate(`{
              const files = new DataTransfer()
              for (const name of ${JSON.stringify(names)}) {
                files.items.add(new File(["c.com\\nd.com"], name))
              }
              document.getElementById("list").dispatchEvent(
                new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }),
              )
            }`),
          )
        yield* drop("one.txt", "two.txt")
        yield* act((page) => page.getByText("Drop one.txt or two.txt alone").waitFor())
        yield* drop("dropped.txt")
        yield* act((page) => page.getByText("dropped.txt").waitFor())
        yield* act((page) => page.getByRole("button", { name: "Check 2 addresses" }).waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "at a zoom of 200 %, a long file name stays inside the window, and a long column name leaves room",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console", { viewport: { width: 640, height: 400 } })
        yield* act((page) => useKey(page, key))
        yield* act((page) =>
          page.getByLabel("Choose a file").setInputFiles({
            name: `${"n".repeat(196)}.csv`,
            mimeType: "text/csv",
            buffer: Buffer.from(
              [`url,${"note ".repeat(40)}`, ...sites(30).map((site) => `${site},one`)].join("\n"),
            ),
          }),
        )
        yield* act(start)
        yield* act((page) => heading(page, "Done: 30 addresses"))
        const width = act((page) => page.evaluate<number>("document.documentElement.scrollWidth"))
        assert.isAtMost(yield* width, 640)
        const header = yield* act((page) => page.locator(".results thead").boundingBox())
        assert.isAtMost(header?.height ?? Infinity, 60)
        // With the keyboard, upwards: what has the focus is below the header.
        yield* act((page) => page.locator(".results tbody a").last().focus())
        for (let i = 0; i < 40; i++) {
          yield* act((page) => page.keyboard.press("Shift+Tab"))
          const focused = yield* act((page) => page.locator(":focus").boundingBox())
          const head = yield* act((page) => page.locator(".results thead th").first().boundingBox())
          assert.isAtLeast(focused?.y ?? -1, (head?.y ?? 0) + (head?.height ?? 0))
        }
      }),
    timeout,
  )

  it.scopedLive(
    "the console keeps the answers and the batches of a run after a reload in its middle, and pays for none twice",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        // The service charges three batches, but the browser receives only the first answer.
        let [seen, unanswered] = [0, 0]
        yield* act((page) =>
          page.route(batches, async (route) => {
            if (++seen === 1) return route.continue()
            await route.fetch()
            unanswered++
          }),
        )
        yield* act((page) => paste(page, sites(120)))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("50", { exact: true }).waitFor())
        while (unanswered < 2) yield* Effect.sleep(20)
        assert.deepInclude(yield* books, { charged: 120 })
        // Reload before `unroute`, because `unroute` would let the two held answers reach the page.
        yield* act((page) => page.reload())
        yield* act((page) => page.unroute(batches))
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => paste(page, sites(120)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 120 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["120", "0", "0", "70"])
        assert.deepInclude(yield* books, { available: 880, held: 0, charged: 120 })
        yield* act(openKey)
        yield* act((page) => page.getByRole("button", { name: "Delete everything" }).click())
        yield* examine("delete")
        yield* act((page) => page.getByRole("button", { name: "Cancel" }).click())
        assert.lengthOf(yield* act(shown), 120)
      }),
    timeout,
  )

  it.scopedLive(
    "the console does not store the API key, and shows a URL that contains HTML as plain text",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        const hostile = [
          "javascript:alert(1)",
          "https://example.com/&lt;svg/onload=alert(1)//",
          "=HYPERLINK('https://evil.example','x')",
          "evil.com",
        ]
        yield* act((page) => paste(page, hostile))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 4 addresses"))
        assert.sameMembers(yield* act(shown), hostile)

        const kept = yield* act((page) =>
          page.evaluate(
            "JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])",
          ),
        )
        const stored = yield* act((page) => page.evaluate(everythingInIndexedDb))
        assert.include(String(stored), "evil.com")
        assert.notInclude(`${String(kept)}${String(stored)}`, key.slice(8))
      }),
    timeout,
  )

  it.scopedLive(
    "the console explains the figures before the first run, and has a sample list to try",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => heading(page, "What the figures mean"))
        yield* act((page) => page.getByRole("button", { name: "Try a sample" }).click())
        yield* act((page) => page.locator("#key:focus").waitFor())
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.locator("#list:focus").waitFor())
        yield* act((page) => page.keyboard.press("Control+Enter"))
        yield* act((page) => heading(page, "Done: 6 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["5", "1", "0", "5"])
      }),
    timeout,
  )

  it.scopedLive(
    "the console can be used with the keyboard alone",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("API key").focus())
        yield* act((page) => page.keyboard.type(key))
        yield* act((page) => page.keyboard.press("Enter"))
        yield* act((page) => page.locator("#list:focus").waitFor())
        yield* act((page) => page.keyboard.type("a.com"))
        while (!(yield* act((page) => isFocused(page, "Check 1 address")))) {
          yield* act((page) => page.keyboard.press("Tab"))
        }
        yield* act((page) => page.keyboard.press("Enter"))
        yield* act((page) => heading(page, "Done: 1 address"))
        while (!(yield* act((page) => isFocused(page, "Spam score")))) {
          yield* act((page) => page.keyboard.press("Tab"))
        }
        yield* act((page) => page.keyboard.press("Enter"))
        yield* act(() => page.locator("th[aria-sort=descending]", { hasText: "Spam" }).waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the keyboard keeps its place when what it pressed waits or disappears",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        const { hasFocus, press } = keyboardOf(act)
        yield* act((page) => useKey(page, key))
        yield* act(openKey)
        yield* press("Refresh")
        yield* hasFocus("[aria-disabled=false]", "Refresh")
        yield* act((page) => page.keyboard.press("Escape"))
        yield* hasFocus("[aria-expanded=false]", "credits available")
        yield* act((page) => paste(page, sites(120)))
        const { open: goOn } = yield* act((page) => gate(page, 1))
        yield* press("Check 120 addresses")
        yield* hasFocus("h2", "Checking 120 addresses")
        goOn()
        yield* act((page) => heading(page, "Done: 120 addresses"))
        // The addresses name the rows of the table.
        yield* act((page) => page.getByRole("rowheader", { name: "site-0.com" }).waitFor())

        yield* act((page) => page.getByLabel("Filter by address").fill("nothing"))
        yield* press("Show all")
        yield* hasFocus("h2", "Results")
        yield* press("Check all anew")
        yield* press("Check, at most")
        yield* act((page) => page.getByText("760 credits available").waitFor())
        yield* hasFocus("h2", "Done: 120 addresses")
        yield* press("Edit list")
        yield* hasFocus("[aria-expanded=true]", "Fold list")
        yield* press("What does it cost?")
        yield* act((page) => page.locator(".plan[open]").waitFor())
        yield* press("Close")
        yield* hasFocus("h2", "Done: 120 addresses")
        yield* act(openKey)
        yield* press("Use another key")
        yield* act((page) => page.locator("#key:focus").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "bars and choices can be seen with forced colors, and paper is light and has whole lines",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console", { forcedColors: "active" })
        const styleOf = (selector: string, property: "backgroundColor" | "textDecorationLine") =>
          act((page) =>
            page.evaluate(`getComputedStyle(document.querySelector("${selector}")).${property}`),
          )
        const checked = ".themes :checked + span"
        assert.strictEqual(yield* styleOf(checked, "textDecorationLine"), "underline")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, ["a.com"]))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 1 address"))
        for (const bar of [".progress .done", ".bars :enabled .column", "td .track span"]) {
          assert.notStrictEqual(
            yield* styleOf(bar, "backgroundColor"),
            yield* styleOf("body", "backgroundColor"),
          )
        }
        yield* act((page) => page.getByTitle("Dark").click())
        yield* act(() => page.goto(`${url}/docs/guide/operating`))
        yield* act(() => page.emulateMedia({ forcedColors: "none", media: "print" }))
        const ofPre = (property: string) =>
          act((page) =>
            page.evaluate(`getComputedStyle(document.querySelector("pre")).${property}`),
          )
        assert.strictEqual(yield* ofPre("colorScheme"), "light")
        assert.strictEqual(yield* ofPre("whiteSpace"), "pre-wrap")
      }),
    timeout,
  )

  it.scopedLive(
    "the console keeps the chosen light or dark theme after a reload, and the guide has the same theme",
    () =>
      Effect.gen(function* () {
        const { url } = yield* service()
        const { act, examine } = yield* visit(url, "/console", { colorScheme: "light" })
        const paper = (page: Page) =>
          page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        const light = yield* act(paper)
        yield* act((page) => page.getByTitle("Dark").click())
        const dark = yield* act(paper)
        assert.notStrictEqual(dark, light)
        yield* act((page) => page.goto(`${url}/docs/guide/client`))
        assert.strictEqual(yield* act(paper), dark)
        yield* examine("guide")
        yield* act((page) => page.goto(`${url}/console`))
        assert.strictEqual(yield* act(paper), dark)
        yield* act((page) => page.getByTitle("As the system").click())
        assert.strictEqual(yield* act(paper), light)
      }),
    timeout,
  )
})

describe.skipIf(isMissing)("the documentation pages", () => {
  it.scopedLive(
    "the API reference sends a request to the service that it was served from, and links to the guide",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act } = yield* visit(url, "/docs")
        yield* act((page) => page.getByPlaceholder(/^QUx/).filter({ visible: true }).fill(key))
        yield* act((page) => page.getByRole("button", { name: "Test Request" }).first().click())
        const answer = act((page) => page.waitForResponse(`${url}/v1/metrics/da-pa/batch`))
        const send = act((page) => page.getByRole("button", { name: "Send" }).first().click())
        const [response] = yield* Effect.all([answer, send], { concurrency: 2 })
        assert.strictEqual(response.status(), 200)
        yield* act((page) => page.reload())
        yield* act((page) => page.getByRole("tab", { name: "Status: 400" }).first().waitFor())
        yield* act(examineContrast)
        yield* act((page) => page.getByRole("link", { name: "Guide" }).click())
        yield* act((page) => heading(page, "Clients and long lists"))
      }),
    timeout,
  )

  it.scopedLive(
    "the guide has its text, its contents and its list of pages without JavaScript",
    () =>
      Effect.gen(function* () {
        const { url } = yield* service()
        const options = { javaScriptEnabled: false }
        const { act, page } = yield* visit(url, "/docs/guide/operating", options)
        yield* act((page) => heading(page, "The settings"))
        const contents = page.getByRole("navigation", { name: "On this page" })
        yield* act(() => contents.getByRole("link", { name: "The settings" }).click())
        yield* act((page) => page.waitForURL(`${url}/docs/guide/operating#the-settings`))
        yield* act((page) => page.getByRole("link", { name: "Monitoring" }).first().waitFor())
      }),
    timeout,
  )
})
