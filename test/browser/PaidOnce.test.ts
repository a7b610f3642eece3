/** Tests in a real browser that the console pays for a list once, with the account's books beside it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Page } from "playwright-core"
import { AccountName } from "../../src/Account.ts"
import { Credits } from "../../src/ledger/Credits.ts"
import { isMissing, visit } from "../support/Browser.ts"
import {
  batches,
  downloaded,
  gate,
  gone,
  heading,
  paste,
  shown,
  sites,
  start,
  tally,
  timeout,
  useKey,
} from "../support/ConsolePage.ts"
import { start as startServer } from "../support/TestServer.ts"

const service = (credits = 1000) => startServer({ credits, hasSyntheticFigures: true })

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).click()

const type = (page: Page, urls: ReadonlyArray<string>) =>
  page.getByLabel("Domains or pages").fill(urls.join("\n"))

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

describe.skipIf(isMissing)("a list in the console", () => {
  it.scopedLive(
    "a list whose answers were lost for more than a day is not charged again without a choice",
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

        yield* act((page) => page.clock.setFixedTime(Date.now() + dayMs))
        yield* act((page) => page.reload())
        yield* act((page) => page.unroute(batches))
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => press(page, "Continue"))
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
        assert.deepStrictEqual(yield* act(tally), ["120", "0", "0", "120"])
        yield* act((page) =>
          page.getByText("The lost answers may have cost up to 70 credits more").waitFor(),
        )
        assert.deepInclude(yield* books, { held: 0, charged: 190 })
      }),
    timeout,
  )

  it.scopedLive(
    "a list that loses a line and gains another continues its run, and only what is new is paid",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(150)))
        const { open } = yield* act((page) => gate(page, 2))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("100", { exact: true }).waitFor())
        yield* act((page) => press(page, "Stop"))
        yield* act((page) => press(page, "Stop now"))
        open()
        yield* act((page) => heading(page, "Stopped: 50 of 150 addresses left to check"))

        yield* act((page) => type(page, [...sites(150).slice(1), "new.com"]))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 150 addresses"))
        assert.deepStrictEqual((yield* act(shown))[0], "site-1.com")
        assert.deepInclude(yield* books, { held: 0, charged: 151 })

        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, [...sites(150).slice(2), "new.com", "newer.com"]))
        yield* act(start)
        yield* act((page) => page.getByText("149 addresses of this list have").waitFor())
        yield* act((page) => press(page, "Check 1 address, at most 1 credit"))
        yield* act((page) => heading(page, "Done: 150 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 152 })
        assert.strictEqual(yield* act((page) => page.locator(".runs li").count()), 1)
      }),
    timeout,
  )

  it.scopedLive(
    "each target is paid once, every row has its figures and the list's own columns, and exports are free",
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
        yield* act((page) => page.locator(".plan[open]").waitFor())
        const facts = yield* act((page) => page.locator(".plan dd").allInnerTexts())
        assert.deepStrictEqual(facts, [
          "59",
          "1",
          "19",
          "40",
          "0",
          "1 credit",
          "at most 40 credits",
          "1,000 credits",
        ])
        yield* examine("plan")
        assert.strictEqual((yield* books).charged, 0)
        yield* act((page) => press(page, "Check, at most 40 credits"))
        yield* act((page) => heading(page, "Done: 60 addresses"))
        assert.deepStrictEqual(yield* act(tally), ["59", "1", "0", "40"])

        const cells = () => act(() => page.locator("td.extra").allInnerTexts())
        assert.match((yield* cells()).slice(0, 2).join(" "), /^0 bought 20\d\d-\d\d-\d\d$/)
        yield* act((page) => page.getByText("Columns", { exact: true }).click())
        yield* act((page) => page.getByRole("checkbox", { name: "Source" }).uncheck())
        yield* act((page) => page.getByRole("checkbox", { name: "Provider" }).check())
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
    "a finished list is not checked again without a question, in this page or after a reload",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, examine } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => paste(page, sites(60)))
        yield* act(start)
        yield* act((page) => heading(page, "Done: 60 addresses"))
        yield* act((page) => press(page, /^Checked$/))
        yield* act((page) => page.getByText("60 addresses of this list have").waitFor())
        yield* examine("finished")
        yield* act((page) => press(page, "Close"))
        yield* act((page) => heading(page, "Done: 60 addresses"))

        yield* act((page) => page.reload())
        yield* act((page) => press(page, /60 checked/))
        yield* act((page) =>
          page.getByRole("button", { name: "Check again, at most 60 credits" }).waitFor(),
        )
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, sites(60).toReversed()))
        yield* act(start)
        yield* act((page) => page.getByText("60 addresses of this list have").waitFor())
        assert.strictEqual((yield* books).charged, 60)
        yield* act((page) => press(page, "Check all again, at most 60 credits"))
        yield* act((page) => heading(page, "Done: 60 addresses"))
        yield* act((page) => page.getByText("880 credits available").waitFor())
        assert.deepInclude(yield* books, { held: 0, charged: 120 })
        assert.strictEqual(yield* act((page) => page.locator(".runs li").count()), 2)
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
        yield* doubleClick(/^Check again/)
        yield* act((page) => page.getByText("880 credits available").waitFor())
        assert.strictEqual(yield* act((page) => page.locator(".runs li").count()), 2)
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
        assert.strictEqual(yield* act((page) => page.locator(".runs li").count()), 0)
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
        yield* act((page) => press(page, "Forget this key"))
        const kept = () => act((page) => page.evaluate("JSON.stringify({ ...localStorage })"))
        assert.notInclude(String(yield* kept()), key.slice(3))
        yield* act((page) => page.reload())
        yield* act((page) => page.getByLabel("API key").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "a batch that is refused while the browser is full is not sent again after its parts are paid",
    () =>
      Effect.gen(function* () {
        const { account, books, key, ledger, url } = yield* service(70)
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) =>
          page.addInitScript(`
            globalThis.isFull = true
            const put = IDBObjectStore.prototype.put
            IDBObjectStore.prototype.put = function (...args) {
              if (args[0].answer && globalThis.isFull) throw new DOMException("full", "QuotaExceededError")
              return put.apply(this, args)
            }`),
        )
        yield* act((page) => page.reload())
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(100)))
        const checked = page.locator(".done").getByText("50", { exact: true })
        let seen = 0
        yield* act((page) =>
          page.route(batches, async (route) => {
            if (++seen !== 2) return route.continue()
            // The other batch holds 50 of the 70 credits, so the service refuses this one.
            await checked.waitFor()
            await route.fulfill({ status: 402, json: { success: false, message: "No." } })
          }),
        )
        yield* act((page) => press(page, /^Check 100/))
        yield* act((page) => press(page, "Check, at most 100 credits"))
        yield* act((page) => heading(page, "Stopped: 30 of 100 addresses left to check"))

        yield* act((page) => page.evaluate("globalThis.isFull = false"))
        yield* ledger.grant(account, Credits.make(100), null)
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => heading(page, "Done: 100 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 100 })
      }),
    timeout,
  )

  it.scopedLive(
    "a run is not continued with a key of another account, or a key whose account is unknown",
    () =>
      Effect.gen(function* () {
        const { accounts, books, key, keys, ledger, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, sites(120)))
        const { open } = yield* act((page) => gate(page, 1))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("50", { exact: true }).waitFor())
        yield* act((page) => page.reload())
        open()
        const { id } = yield* accounts.create(AccountName.make("other"))
        yield* ledger.grant(id, Credits.make(1000), null)
        const other = Redacted.value((yield* keys.issue({ account: id })).key)
        yield* act((page) => page.getByLabel("API key").fill(other))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => page.getByText("The account acme pays for this run.").waitFor())

        yield* act((page) => page.reload())
        yield* act((page) => page.route("**/v1/key", (route) => route.fulfill({ status: 404 })))
        yield* act((page) => page.getByLabel("API key").fill(other))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) =>
          page.getByText(`The key ${key.slice(0, 8)}… paid for this run so far.`).waitFor(),
        )
        yield* act((page) => press(page, "Do not check"))
        const { charged } = yield* ledger.balance(id)
        assert.strictEqual(Number(charged), 0)
        assert.isAtMost((yield* books).charged, 120)
      }),
    timeout,
  )

  it.scopedLive(
    "a key that the user has taken away does not pay for the plan that waits",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => type(page, sites(10)))
        yield* act((page) => press(page, "What does it cost?"))
        yield* act((page) => page.getByText("This start costs at most 10 credits.").waitFor())
        yield* act((page) => press(page, "Use another key"))
        yield* act((page) => page.getByRole("button", { name: "Check, at most" }).waitFor(gone))
        yield* act((page) => press(page, "Continue"))
        yield* act((page) => page.getByText("Enter a key first.").waitFor())
        assert.strictEqual((yield* books).charged, 0)
      }),
    timeout,
  )

  it.scopedLive(
    "two windows that continue the same run pay for it once",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, page: first } = yield* visit(url, "/console")
        yield* act((page) => page.getByLabel("API key").fill(key))
        yield* act((page) => type(page, sites(400)))
        const { open } = yield* act((page) => gate(page, 2))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("100", { exact: true }).waitFor())
        const second = yield* act((page) => page.context().newPage())
        yield* Effect.promise(async () => {
          await second.goto(`${url}/console`)
          await second.getByLabel("API key").fill(key)
          await press(second, "Continue")
          open()
          await heading(second, "Done: 400 addresses")
        })
        yield* act(() => first.getByText("The run is in another window.").waitFor())
        assert.deepInclude(yield* books, { held: 0, charged: 400 })
        yield* act(() => press(first, "Continue"))
        yield* act(() => heading(first, "Done: 400 addresses"))
        assert.deepInclude(yield* books, { held: 0, charged: 400 })
      }),
    timeout,
  )

  it.scopedLive(
    "a list that two windows start to check at once is paid once",
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
        yield* inBoth((window) => type(window, sites(300)))
        // Both have looked for a run of the list before either of them pays.
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
        yield* act(() => Promise.any(windows.map((window) => heading(window, "Done: 300"))))
        const ended = /^(Done:|Not started:|Stopped: .* of) 300 /
        yield* inBoth((window) => heading(window, ended))
        assert.deepInclude(yield* books, { held: 0, charged: 300 })
      }),
    timeout,
  )

  it.scopedLive(
    "a list that another window has checked meanwhile is not paid again without a question",
    () =>
      Effect.gen(function* () {
        const { books, key, url } = yield* service()
        const { act, page } = yield* visit(url, "/console")
        const other = yield* act((page) => page.context().newPage())
        yield* act(() => other.goto(`${url}/console`))
        for (const window of [page, other]) {
          yield* act(() => useKey(window, key))
          yield* act(() => type(window, sites(20)))
        }
        yield* act(() => start(other))
        yield* act(() => heading(other, "Done: 20 addresses"))
        yield* act(() => start(page))
        yield* act(() => page.getByText("20 addresses of this list have").waitFor())
        assert.strictEqual((yield* books).charged, 20)
      }),
    timeout,
  )
})
