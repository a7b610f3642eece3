/** Tests in a real browser that the console pays for each address once, with the account's books. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AccountName } from "../../src/accounts/Account.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { isMissing, visit } from "../support/Browser.ts"
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
  timeout,
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

const dayMs = 24 * 60 * 60 * 1000

/** Loads the page again so many days from now, and enters the key. */
const visitLater = async (page: Page, key: string, days = 0) => {
  await page.clock.setFixedTime(Date.now() + days * dayMs)
  await page.reload()
  await page.getByLabel("API key").fill(key)
}

const sentence = (page: Page) => page.locator(".plan summary").innerText()

describe.skipIf(isMissing)("an address in the console", () => {
  it.scopedLive(
    "is paid once over lists that are cut, mixed and grown on three days, until it is a month old",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service(2000)
        const { act } = yield* visit(url, "/console")
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
          yield* act((page) => visitLater(page, key, day))
          yield* act((page) => paste(page, list))
          yield* act(start)
          yield* act((page) => heading(page, `Done: ${list.length} addresses`))
          assert.include(yield* act(sentence), planned)
          assert.deepInclude(yield* books, { held: 0, charged })
        }
      }),
    timeout,
  )

  it.scopedLive(
    "is bought anew when its answer is older than the user wants, but not twice in one check",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        const from = (value: string) =>
          act(async () => {
            await edit(page)
            await page.getByLabel("Use answers that are kept here from").selectOption(value)
          })
        const list = [...sites(60), "provider-error.example.com"]
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, list))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 61 addresses"))

        yield* act((page) => visitLater(page, key, 2))
        yield* act((page) => type(page, list))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 61 addresses"))
        assert.strictEqual((yield* books).charged, 60)
        yield* from("today")
        yield* act((page) => press(page, /^Checked$/))
        yield* act((page) =>
          page.locator(".tally div:not([class])", { hasText: /^0 / }).waitFor(gone),
        )
        yield* act((page) => heading(page, "Done: 61 addresses"))
        assert.strictEqual((yield* books).charged, 120)

        yield* from("never: always new")
        yield* act((page) => press(page, /^Checked$/))
        yield* act((page) => page.getByText("This start costs at most 61 credits.").waitFor())
        assert.strictEqual((yield* books).charged, 120)
        yield* act((page) => press(page, "Check, at most 61 credits"))
        yield* act((page) => heading(page, "Done: 61 addresses"))
        yield* act((page) => press(page, "Retry the failed address"))
        yield* act((page) => page.getByText("60 answered").waitFor())
        yield* act((page) => heading(page, "Done: 61 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 180 })
      }),
    timeout,
  )

  it.scopedLive(
    "whose answer was lost for more than a day is not charged again without a choice",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(120)))
        const lost = yield* act((page) => loseAnswers(page, 1))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("50", { exact: true }).waitFor())
        while (lost() < 2) yield* Effect.sleep(20)
        assert.strictEqual((yield* books).charged, 120)

        yield* act((page) => visitLater(page, key, 1))
        yield* act((page) => page.unroute(batches))
        yield* act((page) => type(page, sites(120)))
        yield* act(start)
        yield* act((page) =>
          page
            .getByText(
              "70 addresses were sent more than 23 hours ago without an answer and may be charged a second time (up to 70 credits), because the service keeps answers for a day.",
            )
            .waitFor(),
        )
        yield* examine("doubtful")
        yield* act((page) => press(page, "Leave them out, at most 0 credits"))
        yield* act((page) => heading(page, "Stopped: 70 of 120 addresses left to check"))
        assert.strictEqual((yield* books).charged, 120)

        yield* act((page) => press(page, "Continue"))
        yield* act((page) => press(page, "Check them again, at most 70 credits"))
        yield* act((page) => heading(page, "Done: 120 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["120", "0", "0", "70"])
        assert.deepInclude(yield* books, { held: 0, charged: 190 })
      }),
    timeout,
  )

  it.scopedLive(
    "that was sent without an answer before a reload is repeated with its batch, which the plan names",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(120)))
        const lost = yield* act((page) => loseAnswers(page, 1))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("50", { exact: true }).waitFor())
        while (lost() < 2) yield* Effect.sleep(20)

        yield* act((page) => visitLater(page, key))
        yield* act((page) => page.unroute(batches))
        yield* act((page) => type(page, ["site-119.com", "new.com"]))
        yield* act((page) => press(page, "What does it cost?"))
        yield* act((page) => page.getByText("Not in the list, but in the same").waitFor())
        const plan = "2 addresses: 2 to check, 19 more that are repeated with them, at most 21"
        assert.include(yield* act(sentence), plan)
        yield* examine("repeated")
        yield* act((page) => press(page, "Check, at most 21 credits"))
        yield* act((page) => heading(page, "Done: 2 addresses"))
        yield* act((page) => type(page, sites(120)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 120 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 121 })
      }),
    timeout,
  )

  it.scopedLive(
    "is paid once in a list that repeats it: every row has its figures and the list's own columns, and exports are free",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, examine, page } = yield* visit(url, "/console")
        const urls = [...sites(40), ...sites(10), ...sites(9).map((url) => `HTTP://${url}/#top`)]
        const csv = ["id,url", ...urls.concat("localhost").map((url, i) => `${i},${url}`)].join(
          "\n",
        )
        yield* act(() =>
          page
            .getByLabel("Choose a file")
            .setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: Buffer.from(csv) }),
        )
        const sample = page.getByRole("region", { name: "First rows of the list" })
        assert.deepStrictEqual(yield* act(() => sample.locator(".chosen").allInnerTexts()), [
          "url",
          "site-0.com",
          "site-1.com",
          "site-2.com",
        ])
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => press(page, "What does it cost?"))
        yield* act((page) => page.getByText("This start costs at most 40 credits.").waitFor())
        assert.strictEqual(
          yield* act(sentence),
          "60 addresses: 19 duplicates, 1 invalid, 40 to check, at most 40 credits; the account has 1,000.",
        )
        const table = yield* act((page) => page.locator(".plan[open] tbody tr").allInnerTexts())
        assert.deepStrictEqual(table, [
          "duplicates\t19\t0",
          "invalid\t1\t0",
          "known to the service\t40\t40",
        ])
        yield* examine("plan")
        assert.strictEqual((yield* books).charged, 0)
        yield* act((page) => press(page, "Check, at most 40 credits"))
        yield* act((page) => heading(page, "Done: 60 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["59", "1", "0", "40"])

        yield* act((page) => press(page, /^No\./))
        const cells = () => act(() => page.locator("td.extra").allInnerTexts())
        assert.match((yield* cells()).slice(0, 2).join(" "), /^0 bought 20\d\d-\d\d-\d\d$/)
        yield* act((page) => page.getByText("Columns", { exact: true }).click())
        yield* act((page) => page.getByRole("checkbox", { name: "Source" }).uncheck())
        yield* act((page) => page.getByRole("checkbox", { name: "Provider" }).check())
        yield* examine("choice of columns")
        yield* act((page) => page.keyboard.press("Escape"))
        yield* act((page) => press(page, /^id/))
        yield* act((page) => press(page, /^id/))
        assert.deepStrictEqual((yield* cells()).slice(0, 4), ["59", "", "58", "sandbox"])
        yield* act((page) => page.getByText("same as No. 1", { exact: true }).first().waitFor())
        yield* examine("columns")
        yield* act((page) => press(page, /^No\./))

        const { name, text } = yield* act((page) => downloaded(page, "Export all as CSV"))
        assert.match(name, /^authority-synthetic/)
        const lines = text.trim().split("\r\n").slice(1)
        assert.lengthOf(lines, 60)
        for (const [i, line] of lines.slice(0, 59).entries()) {
          assert.match(line, new RegExp(`^${i},[^,]+,\\d+,\\d+,\\d+,,sandbox,bought,20`))
        }
        yield* act((page) => downloaded(page, "Export all as JSON"))
        yield* act((page) => press(page, "Copy all"))
        assert.deepInclude(yield* books, { held: 0, charged: 40 })
      }),
    timeout,
  )

  it.scopedLive(
    "a double click on a button that starts a check pays once",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(60)))
        const doubleClick = (name: string | RegExp) =>
          act((page) => page.getByRole("button", { name }).dblclick())
        yield* doubleClick(/^Check 60/)
        yield* act((page) => page.getByText("940 credits available").waitFor())
        yield* act((page) => press(page, "Check all anew"))
        yield* doubleClick("Check, at most 60 credits")
        yield* act((page) => page.getByText("880 credits available").waitFor())
        assert.deepInclude(yield* books, { held: 0, charged: 120 })
      }),
    timeout,
  )

  it.scopedLive(
    "the console asks above the limit that the user sets, which it keeps after a reload",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => type(page, sites(3)))
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.getByLabel("Ask before a check").fill("20"))
        yield* act((page) => page.keyboard.press("Enter"))
        yield* Effect.sleep("500 millis")
        assert.strictEqual(yield* act((page) => page.locator(".tally").count()), 0)
        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, sites(21)))
        yield* act(start)
        yield* act((page) => page.getByText("This is more than 20 credits").waitFor())
        yield* act((page) => press(page, "Do not check"))
        yield* act((page) => heading(page, "Stopped: 21 of 21 addresses left to check"))
        assert.strictEqual((yield* books).charged, 0)
        yield* act((page) => type(page, sites(20)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 20 addresses"))
        assert.strictEqual((yield* books).charged, 20)
      }),
    timeout,
  )

  it.scopedLive(
    "a key that is to be remembered is there after a reload, until the user forgets it",
    () =>
      Effect.gen(function* () {
        const { key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        const remember = page.getByLabel("Remember the key on this device")
        assert.isFalse(yield* act(() => remember.isChecked()))
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("API key").waitFor())
        yield* act(() => remember.check())
        yield* act((page) => useKey(page, key))
        yield* act((page) => page.reload())
        yield* act((page) => page.getByText("1,000 credits available").waitFor())
        yield* act(openKey)
        yield* act((page) => press(page, "Forget this key"))
        const kept = () => act((page) => page.evaluate("JSON.stringify({ ...localStorage })"))
        assert.notInclude(String(yield* kept()), key.slice(3))
        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("API key").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "whose answer does not fit into the browser is fetched again without another charge",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(100)))
        yield* act((page) =>
          page.evaluate(`
            globalThis.isFull = true
            const put = IDBObjectStore.prototype.put
            IDBObjectStore.prototype.put = function (...args) {
              if (args[0].answer && globalThis.isFull) throw new DOMException("full", "QuotaExceededError")
              return put.apply(this, args)
            }
            0`),
        )
        yield* act(start)
        yield* act((page) => page.getByText("The browser has no space left.").waitFor())
        yield* act((page) => page.evaluate("globalThis.isFull = false"))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => heading(page, "Done: 100 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 100 })
      }),
    timeout,
  )

  it.scopedLive(
    "has no answer of another account",
    () =>
      Effect.gen(function* () {
        const { accounts, books, key, keys, ledger, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(20)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 20 addresses"))
        const { id } = yield* accounts.create(AccountName.make("other"))
        yield* ledger.grant(id, Credits.make(1000), null)
        const other = Redacted.value((yield* keys.issue({ account: id })).key)
        yield* act(openKey)
        yield* act((page) => press(page, "Use another key"))
        yield* act((page) => useKey(page, other))
        yield* act(() => page.locator("td.url").first().waitFor(gone))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 20 addresses"))
        assert.strictEqual(Number((yield* ledger.balance(id)).charged), 20)
        assert.strictEqual((yield* books).charged, 20)
      }),
    timeout,
  )

  it.scopedLive(
    "is not paid by a key that the user has taken away from the plan that waits",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(10)))
        yield* act((page) => press(page, "What does it cost?"))
        yield* act((page) => page.getByText("This start costs at most 10 credits.").waitFor())
        yield* act(openKey)
        yield* act((page) => press(page, "Use another key"))
        yield* act((page) => page.getByRole("button", { name: "Check, at most" }).waitFor(gone))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => page.getByText("Enter a key first.").waitFor())
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => page.getByText("This start costs at most 10 credits.").waitFor())
        assert.strictEqual((yield* books).charged, 0)
      }),
    timeout,
  )

  it.scopedLive(
    "is paid once by two windows that check at once, and both have its figures",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        const other = yield* act((page) => page.context().newPage())
        yield* act(() => other.goto(`${url}/console`))
        const windows = [page, other]
        const inBoth = (action: (page: Page) => Promise<unknown>) =>
          act(() => Promise.all(windows.map(action)))
        yield* inBoth((window) => useKey(window, key))
        yield* inBoth((window) =>
          type(window, window === page ? sites(300) : sites(400).slice(100).toReversed()),
        )
        // Both have planned before either of them pays.
        let arrive = () => {}
        const arrived = new Promise<void>((resolve) => (arrive = resolve))
        const planning = new Set<Page>()
        yield* inBoth((window) =>
          window.route("**/preview", async (route) => {
            if (planning.add(window).size === 2) arrive()
            await arrived
            await route.continue()
          }),
        )
        yield* inBoth(start)
        yield* inBoth((window) => heading(window, "Done: 300 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 400 })
      }),
    timeout,
  )

  it.scopedLive(
    "that a window has sent is checked by another one after the first is closed",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        const other = yield* act((page) => page.context().newPage())
        yield* act(() => other.goto(`${url}/console`))
        for (const window of [page, other]) {
          yield* act(() => useKey(window, key))
          yield* act(() => type(window, sites(200)))
        }
        const lost = yield* act(() => loseAnswers(other, 1))
        yield* act(() => start(other))
        while (lost() < 3) yield* Effect.sleep(20)
        yield* act(() => start(page))
        yield* act(() => page.locator(".done").getByText("50", { exact: true }).waitFor())
        yield* act(() => other.close())
        yield* act(() => heading(page, "Done: 200 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 200 })
      }),
    timeout,
  )

  it.scopedLive(
    "is kept until the user deletes everything",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, sites(10)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 10 addresses"))
        yield* act(openKey)
        yield* act((page) => press(page, "Delete everything"))
        yield* act((page) => press(page, "Delete permanently"))
        yield* act((page) => heading(page, "See how strong every site"))
        yield* act((page) => visitLater(page, key))
        yield* act((page) => type(page, sites(10)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 10 addresses"))
        assert.strictEqual((yield* books).charged, 20)
      }),
    timeout,
  )
})
