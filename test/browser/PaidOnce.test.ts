/** Tests in a real browser that the console pays for each address once, with the account's books. */
import { assert, describe } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AccountName } from "../../src/accounts/Account.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { browserTest, isMissing, visit } from "../support/Browser.ts"
import {
  batches,
  downloaded,
  edit,
  gone,
  heading,
  openKey,
  paste,
  sites,
  start,
  tally,
  useKey,
} from "../support/ConsolePage.ts"
import { start as startServer } from "../support/TestServer.ts"

const service = (credits = 1000) => startServer({ credits, hasSyntheticFigures: true })

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click()

const type = async (page: Page, urls: ReadonlyArray<string>) => {
  await edit(page)
  await page.getByLabel("Domains or pages").fill(urls.join("\n"))
}

/** Lets the service answer all but the first `passing` batches, and loses their answers. */
const loseAnswers = async (page: Page, passing: number) => {
  let [seen, lost] = [0, 0]
  await page.route(batches, async (route) => {
    if (++seen <= passing) return route.continue()
    await route.fetch()
    lost++
  })
  return () => lost
}

/** Checks 120 addresses. The page gets the answer to the first batch only. */
const checkAndLoseAnswers = async (page: Page, key: string) => {
  await useKey(page, key)
  await type(page, sites(120))
  const lost = await loseAnswers(page, 1)
  await start(page)
  await page.locator(".done").getByText("50", { exact: true }).waitFor()
  while (lost() < 2) await page.waitForTimeout(20)
}

const dayMs = 24 * 60 * 60 * 1000

/** Loads the page again so many days from now, and enters the key. */
const visitLater = async (page: Page, key: string, days = 0) => {
  await page.clock.setFixedTime(Date.now() + days * dayMs)
  await page.reload()
  await page.getByLabel("API key").fill(key)
}

const sentence = (page: Page) => page.locator(".plan summary").innerText()

describe.skipIf(isMissing)("an address that the console checks", () => {
  browserTest("is paid once over lists that are cut, mixed and grown, for a month", async (run) => {
    const { books, key, url } = await run(service(2000))
    const { page } = await run(visit(url, "/console"))
    const all = sites(700)
    const mixed = [...all.slice(0, 120), ...all.slice(300, 480)].toReversed()
    const lists = [
      { day: 0, list: all.slice(0, 300), charged: 300, planned: "300 to check" },
      { day: 0, list: mixed, charged: 480, planned: "120 answered today (0 credits), 180 to" },
      { day: 1, list: all.slice(50, 150), charged: 480, planned: "2 days (0 credits), 0 to" },
      { day: 2, list: all, charged: 700, planned: "480 answered in the last 3 days" },
      { day: 31, list: all.slice(0, 10), charged: 710, planned: "10 addresses: 10 to check" },
    ]
    for (const { charged, day, list, planned } of lists) {
      await visitLater(page, key, day)
      await paste(page, list)
      await start(page)
      await heading(page, `Done: ${list.length} addresses`)
      assert.include(await sentence(page), planned)
      assert.deepInclude(await run(books), { held: 0, charged })
    }
  })

  browserTest("is bought anew when its answer is too old, but once in one check", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    const from = async (value: string) => {
      await edit(page)
      await page.getByLabel("Use answers that are kept here from").selectOption(value)
    }
    const list = [...sites(60), "provider-error.example.com"]
    await page.getByLabel("API key").fill(key)
    await type(page, list)
    await start(page)
    await heading(page, "Done: 61 addresses")

    await visitLater(page, key, 2)
    await type(page, list)
    await start(page)
    await heading(page, "Done: 61 addresses")
    assert.strictEqual((await run(books)).charged, 60)
    await from("today")
    await press(page, /^Checked$/)
    await page.locator(".tally div:not([class])", { hasText: /^0 / }).waitFor(gone)
    await heading(page, "Done: 61 addresses")
    assert.strictEqual((await run(books)).charged, 120)

    await from("never: always new")
    await press(page, /^Checked$/)
    await page.getByText("This start costs at most 61 credits.").waitFor()
    assert.strictEqual((await run(books)).charged, 120)
    await press(page, "Check, at most 61 credits")
    await heading(page, "Done: 61 addresses")
    await press(page, "Retry the failed address")
    await page.getByText("60 answered").waitFor()
    await heading(page, "Done: 61 addresses")
    assert.deepInclude(await run(books), { held: 0, charged: 180 })
  })

  browserTest("whose answer was lost for a day is charged again by choice only", async (run) => {
    const { books, key, url } = await run(service())
    const { examine, page } = await run(visit(url, "/console"))
    await checkAndLoseAnswers(page, key)
    assert.strictEqual((await run(books)).charged, 120)

    await visitLater(page, key, 1)
    await page.unroute(batches)
    await type(page, sites(120))
    await start(page)
    await page
      .getByText(
        "70 addresses were sent more than 23 hours ago without an answer and may be charged a second time (up to 70 credits), because the service keeps answers for a day.",
      )
      .waitFor()
    await examine("doubtful")
    await press(page, "Leave them out, at most 0 credits")
    await heading(page, "Stopped: 70 of 120 addresses left to check")
    assert.strictEqual((await run(books)).charged, 120)

    await press(page, "Continue")
    await press(page, "Check them again, at most 70 credits")
    await heading(page, "Done: 120 addresses")
    assert.deepStrictEqual(await tally(page), ["120", "0", "0", "70"])
    assert.deepInclude(await run(books), { held: 0, charged: 190 })
  })

  browserTest("that was sent without an answer is repeated with its batch", async (run) => {
    const { books, key, url } = await run(service())
    const { examine, page } = await run(visit(url, "/console"))
    await checkAndLoseAnswers(page, key)

    await visitLater(page, key)
    await page.unroute(batches)
    await type(page, ["site-119.com", "new.com"])
    await press(page, "What does it cost?")
    await page.getByText("Not in the list, but in the same").waitFor()
    const plan = "2 addresses: 2 to check, 19 more that are repeated with them, at most 21"
    assert.include(await sentence(page), plan)
    await examine("repeated")
    await press(page, "Check, at most 21 credits")
    await heading(page, "Done: 2 addresses")
    await type(page, sites(120))
    await start(page)
    await heading(page, "Done: 120 addresses")
    assert.deepInclude(await run(books), { held: 0, charged: 121 })
  })

  browserTest(
    "is paid once in a list that repeats it, with its figures in each row",
    async (run) => {
      const { books, key, url } = await run(service())
      const { examine, page } = await run(visit(url, "/console"))
      const urls = [...sites(40), ...sites(10), ...sites(9).map((url) => `HTTP://${url}/#top`)]
      const csv = ["id,url", ...urls.concat("localhost").map((url, i) => `${i},${url}`)].join("\n")
      await page
        .getByLabel("Choose a file")
        .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: Buffer.from(csv) })
      const sample = page.getByRole("region", { name: "First rows of the list" })
      assert.deepStrictEqual(await sample.locator(".chosen").allInnerTexts(), [
        "url",
        "site-0.com",
        "site-1.com",
        "site-2.com",
      ])
      await page.getByLabel("API key").fill(key)
      await press(page, "What does it cost?")
      await page.getByText("This start costs at most 40 credits.").waitFor()
      assert.strictEqual(
        await sentence(page),
        "60 addresses: 19 duplicates, 1 invalid, 40 to check, at most 40 credits; the account has 1,000.",
      )
      const table = await page.locator(".plan[open] tbody tr").allInnerTexts()
      assert.deepStrictEqual(table, [
        "duplicates\t19\t0",
        "invalid\t1\t0",
        "known to the service\t40\t40",
      ])
      await examine("plan")
      assert.strictEqual((await run(books)).charged, 0)
      await press(page, "Check, at most 40 credits")
      await heading(page, "Done: 60 addresses")
      assert.deepStrictEqual(await tally(page), ["59", "1", "0", "40"])

      await press(page, /^No\./)
      const cells = () => page.locator("td.extra").allInnerTexts()
      assert.match((await cells()).slice(0, 2).join(" "), /^0 bought 20\d\d-\d\d-\d\d$/)
      await page.getByText("Columns", { exact: true }).click()
      await page.getByRole("checkbox", { name: "Source" }).uncheck()
      await page.getByRole("checkbox", { name: "Provider" }).check()
      await examine("choice of columns")
      await page.keyboard.press("Escape")
      await press(page, /^id/)
      await press(page, /^id/)
      assert.deepStrictEqual((await cells()).slice(0, 4), ["59", "", "58", "sandbox"])
      await page.getByText("same as No. 1", { exact: true }).first().waitFor()
      await examine("columns")
      await press(page, /^No\./)

      const { name, text } = await downloaded(page, "Export all as CSV")
      assert.match(name, /^authority-synthetic/)
      const lines = text.trim().split("\r\n").slice(1)
      assert.lengthOf(lines, 60)
      for (const [i, line] of lines.slice(0, 59).entries()) {
        assert.match(line, new RegExp(`^${i},[^,]+,\\d+,\\d+,\\d+,,sandbox,bought,20`))
      }
      await downloaded(page, "Export all as JSON")
      await press(page, "Copy all")
      assert.deepInclude(await run(books), { held: 0, charged: 40 })
    },
  )

  browserTest("a double click on a button that starts a check pays once", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await useKey(page, key)
    await type(page, sites(60))
    const doubleClick = (name: string | RegExp) => page.getByRole("button", { name }).dblclick()
    await doubleClick(/^Check 60/)
    await page.getByText("940 credits available").waitFor()
    await press(page, "Check all anew")
    await doubleClick("Check, at most 60 credits")
    await page.getByText("880 credits available").waitFor()
    assert.deepInclude(await run(books), { held: 0, charged: 120 })
  })

  browserTest("the console asks above the limit that the user sets, and keeps it", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await type(page, sites(3))
    await useKey(page, key)
    await page.getByLabel("Ask before a check").fill("20")
    await page.keyboard.press("Enter")
    await page.waitForTimeout(500)
    assert.strictEqual(await page.locator(".tally").count(), 0)
    await page.reload()
    await page.getByLabel("API key").fill(key)
    await type(page, sites(21))
    await start(page)
    await page.getByText("This is more than 20 credits").waitFor()
    await press(page, "Do not check")
    await heading(page, "Stopped: 21 of 21 addresses left to check")
    assert.strictEqual((await run(books)).charged, 0)
    await type(page, sites(20))
    await start(page)
    await heading(page, "Done: 20 addresses")
    assert.strictEqual((await run(books)).charged, 20)
  })

  browserTest("a key that is to be remembered stays until the user forgets it", async (run) => {
    const { key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    const remember = page.getByLabel("Remember the key on this device")
    assert.isFalse(await remember.isChecked())
    await useKey(page, key)
    await page.reload()
    await page.getByLabel("API key").waitFor()
    await remember.check()
    await useKey(page, key)
    await page.reload()
    await page.getByText("1,000 credits available").waitFor()
    await openKey(page)
    await press(page, "Forget this key")
    const kept = () => page.evaluate("JSON.stringify({ ...localStorage })")
    assert.notInclude(String(await kept()), key.slice(3))
    await page.reload()
    await page.getByLabel("API key").waitFor()
  })

  browserTest(
    "whose answer does not fit into the browser is fetched again for free",
    async (run) => {
      const { books, key, url } = await run(service())
      const { page } = await run(visit(url, "/console"))
      await useKey(page, key)
      await type(page, sites(100))
      await page.evaluate(`
            globalThis.isFull = true
            const put = IDBObjectStore.prototype.put
            IDBObjectStore.prototype.put = function (...args) {
              if (args[0].answer && globalThis.isFull) throw new DOMException("full", "QuotaExceededError")
              return put.apply(this, args)
            }
            0`)
      await start(page)
      await page.getByText("The browser has no space left.").waitFor()
      await page.evaluate("globalThis.isFull = false")
      await press(page, "Continue")
      await heading(page, "Done: 100 addresses")
      assert.deepInclude(await run(books), { held: 0, charged: 100 })
    },
  )

  browserTest("has no answer of another account", async (run) => {
    const { accounts, books, key, keys, ledger, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await useKey(page, key)
    await type(page, sites(20))
    await start(page)
    await heading(page, "Done: 20 addresses")
    const { id } = await run(accounts.create(AccountName.make("other")))
    await run(ledger.grant(id, Credits.make(1000), null))
    const other = Redacted.value((await run(keys.issue({ account: id }))).key)
    await openKey(page)
    await press(page, "Use another key")
    await useKey(page, other)
    await page.locator("td.url").first().waitFor(gone)
    await start(page)
    await heading(page, "Done: 20 addresses")
    assert.strictEqual(Number((await run(ledger.balance(id))).charged), 20)
    assert.strictEqual((await run(books)).charged, 20)
  })

  browserTest("is not paid by a key that the user took away from the waiting plan", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await useKey(page, key)
    await type(page, sites(10))
    await press(page, "What does it cost?")
    await page.getByText("This start costs at most 10 credits.").waitFor()
    await openKey(page)
    await press(page, "Use another key")
    await page.getByRole("button", { name: "Check, at most" }).waitFor(gone)
    await press(page, "Continue")
    await page.getByText("Enter a key first.").waitFor()
    await page.getByLabel("API key").fill(key)
    await press(page, "Continue")
    await page.getByText("This start costs at most 10 credits.").waitFor()
    assert.strictEqual((await run(books)).charged, 0)
  })

  browserTest("is paid once by two windows at once, and both have its figures", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    const other = await page.context().newPage()
    await other.goto(`${url}/console`)
    const windows = [page, other]
    const inBoth = (action: (page: Page) => Promise<unknown>) => Promise.all(windows.map(action))
    await inBoth((window) => useKey(window, key))
    await inBoth((window) =>
      type(window, window === page ? sites(300) : sites(400).slice(100).toReversed()),
    )
    // Both have planned before either of them pays.
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => (arrive = resolve))
    const planning = new Set<Page>()
    await inBoth((window) =>
      window.route("**/preview", async (route) => {
        if (planning.add(window).size === 2) arrive()
        await arrived
        await route.continue()
      }),
    )
    await inBoth(start)
    await inBoth((window) => heading(window, "Done: 300 addresses"))
    assert.deepInclude(await run(books), { held: 0, charged: 400 })
  })

  browserTest("that a window has sent is checked by another one after it closes", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    const other = await page.context().newPage()
    await other.goto(`${url}/console`)
    for (const window of [page, other]) {
      await useKey(window, key)
      await type(window, sites(200))
    }
    const lost = await loseAnswers(other, 1)
    await start(other)
    while (lost() < 3) await page.waitForTimeout(20)
    await start(page)
    await page.locator(".done").getByText("50", { exact: true }).waitFor()
    await other.close()
    await heading(page, "Done: 200 addresses")
    assert.deepInclude(await run(books), { held: 0, charged: 200 })
  })

  browserTest("is kept until everything is deleted, and so are the runs of 1.1.0", async (run) => {
    const { books, key, url } = await run(service())
    const { page } = await run(visit(url, "/console"))
    await page.evaluate(oldRun)
    await page.reload()
    await page.getByText("finish open runs with 1.1.0 first").waitFor()
    await page.getByText("Runs of version 1.1.0").click()
    const { text } = await downloaded(page, /old\.csv/)
    const lines = text.split("\r\n").slice(0, 4)
    assert.deepStrictEqual(
      lines.map((line) => line.split(",").slice(0, 6).join()),
      [
        "\uFEFFid,url,domainAuthority,pageAuthority,spamScore,reason",
        "7,old.com,1,2,,",
        "8,localhost,,,,INVALID_URL",
        "9,open.com,,,,",
      ],
    )
    await page.getByLabel("API key").fill(key)
    await type(page, sites(10))
    await start(page)
    await heading(page, "Done: 10 addresses")
    await openKey(page)
    await press(page, "Delete everything")
    await press(page, "Delete permanently")
    await heading(page, "See how strong every site")
    assert.strictEqual(await page.getByText("1.1.0").count(), 0)
    await visitLater(page, key)
    await type(page, sites(10))
    await start(page)
    await heading(page, "Done: 10 addresses")
    assert.strictEqual((await run(books)).charged, 20)
  })
})

/** Makes what the console of 1.1.0 keeps of an open run with an answer. */
const oldRun = `new Promise((resolve) => {
  const opening = indexedDB.open("authority-console", 2)
  opening.onupgradeneeded = () => {
    for (const name of ["runs", "lists", "owners", "entries", "batches", "parcels"])
      opening.result.createObjectStore(name)
  }
  opening.onsuccess = () => {
    const db = opening.result
    const transaction = db.transaction(["runs", "lists", "entries", "batches"], "readwrite")
    const put = (store, value, key) => transaction.objectStore(store).put(value, key)
    const counts = { total: 3, checked: 1, failed: 1, creditsUsed: 1 }
    put("runs", { id: "a", name: "old.csv", startedAt: 1, ...counts }, "a")
    const items = ["old.com", "localhost", "open.com"].map((url, i) => ({ url, others: [String(7 + i)] }))
    put("lists", { items, own: { column: 1, columns: ["id", "url"] } }, "a")
    const entries = [
      { url: "old.com", target: "old.com/" },
      { url: "localhost", problem: "has no dot" },
      { url: "open.com", target: "open.com/" },
    ]
    put("entries", entries, ["a", "old.com"])
    const outcomes = [{ url: "old.com", domainAuthority: 1, pageAuthority: 2 }]
    const answer = { outcomes, creditsUsed: 1, answeredAt: 1 }
    const items1 = [{ url: "old.com", target: "old.com/" }]
    put("batches", { key: "k", items: items1, sentAt: 1, provenance: true, answer }, ["a", "k"])
    transaction.oncomplete = () => resolve(db.close())
  }
})`
