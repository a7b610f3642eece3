/** Tests in a real browser that take long: every state on a phone, long lists, a dead server. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Page } from "playwright-core"
import { isMissing, visit, type Visit } from "../support/Browser.ts"
import {
  timeout,
  sites,
  mixed,
  enter,
  useKey,
  paste,
  start,
  heading,
  edit,
  gate,
  gone,
} from "../support/ConsolePage.ts"
import { folder, openAccount, serve } from "../support/Program.ts"

describe.skipIf(isMissing)("the console", () => {
  it.scopedLive(
    "the console checks 10,000 URLs but renders at most 150 table rows at a time, and can read a list of 100,000 URLs",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 20_000)
        const { url } = yield* serve(cwd)
        const { act, page } = yield* visit(url, "/console")
        yield* act((page) => useKey(page, key))
        yield* act((page) => paste(page, sites(100_000)))
        yield* act((page) =>
          page.getByRole("button", { name: "Check 100,000 addresses" }).waitFor(),
        )
        yield* act((page) => page.getByRole("button", { name: "Remove" }).click())
        yield* act((page) => paste(page, sites(10_000)))
        yield* act(start)
        yield* act((page) =>
          page.getByRole("button", { name: "Check, at most 10,000 credits" }).click(),
        )
        yield* act((page) =>
          heading(page, "Done: 10,000 addresses").catch(() =>
            heading(page, "Done: 10,000 addresses"),
          ),
        )
        yield* act((page) => page.getByRole("button", { name: "Page authority" }).first().click())
        assert.isAtMost(yield* Effect.promise(() => page.locator(".results tbody tr").count()), 150)
        yield* act((page) => page.getByText("10,000 credits available").waitFor())
      }),
    timeout,
  )

  it.scopedLive(
    "the console reports that the browser cannot store the results, and the run continues",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 1000)
        const { url } = yield* serve(cwd)
        const checkAll = (act: Visit["act"]) =>
          act(async (page) => {
            await useKey(page, key)
            await paste(page, sites(60))
            await start(page)
            await heading(page, "Done: 60 addresses")
          })
        const refused = yield* visit(url, "/console")
        yield* refused.act((page) =>
          page.addInitScript("IDBFactory.prototype.open = () => { throw new Error('refused') }"),
        )
        yield* refused.act((page) => page.reload())
        yield* refused.act((page) =>
          page.getByText("This browser does not keep the results").waitFor(),
        )
        yield* checkAll(refused.act)
        yield* refused.examine("not kept")

        const full = yield* visit(url, "/console")
        yield* full.act((page) =>
          page.addInitScript(`
            globalThis.isFull = true
            const put = IDBObjectStore.prototype.put
            IDBObjectStore.prototype.put = function (...args) {
              if (globalThis.isFull) throw new DOMException("full", "QuotaExceededError")
              return put.apply(this, args)
            }`),
        )
        yield* full.act((page) => page.reload())
        yield* checkAll(full.act)
        const problem = "The browser has no space left"
        yield* full.act((page) => page.getByText(problem).waitFor())
        yield* full.act((page) => page.evaluate("globalThis.isFull = false"))
        yield* full.act((page) => page.getByLabel("Domains or pages").fill("a.com"))
        yield* full.act(start)
        yield* full.act((page) => heading(page, "Done: 1 address"))
        yield* full.act((page) =>
          page.getByRole("button", { name: /^Delete the run .* 1 address/ }).click(),
        )
        yield* full.act((page) => page.getByRole("button", { name: "Delete permanently" }).click())
        // Once the browser has space again, the console stores the results of the earlier run too.
        yield* full.act((page) => page.getByText(problem).waitFor(gone))
        yield* full.act((page) => page.reload())
        yield* full.act((page) => page.getByRole("button", { name: /60 checked/ }).click())
        yield* full.act((page) => heading(page, "Done: 60 addresses"))
      }),
    timeout,
  )

  it.scopedLive(
    "every state of the console fits the width of a phone and is accessible at that width",
    () =>
      Effect.gen(function* () {
        const cwd = yield* folder
        const { key } = yield* openAccount(cwd, 140)
        const { url } = yield* serve(cwd)
        const { act, examine: inspect } = yield* visit(url, "/console", {
          viewport: { width: 390, height: 844 },
          isMobile: true,
          hasTouch: true,
        })
        const width = (page: Page) => page.evaluate("document.documentElement.scrollWidth")
        const examine = (state: string) =>
          Effect.gen(function* () {
            assert.strictEqual(yield* act(width), 390, state)
            yield* inspect(`phone ${state}`)
          })
        yield* examine("empty")
        yield* act((page) => enter(page, "ключ"))
        yield* act((page) => page.getByText("This key is not accepted").waitFor())
        yield* examine("wrong key")
        yield* act((page) => useKey(page, key))
        // None of them is on the first list.
        const others = sites(175).slice(115)
        const table = [...mixed, `https://www.example.com/${"long-and-".repeat(60)}`]
        yield* act((page) =>
          paste(
            page,
            table.map((url, index) => `${url}\t${index}`),
          ),
        )
        yield* act((page) => page.getByLabel("Addresses are in").waitFor())
        yield* examine("list")
        const { open: goOn } = yield* act((page) => gate(page, 1))
        yield* act(start)
        yield* act((page) => page.locator(".done").getByText("50").waitFor())
        yield* examine("running")
        goOn()
        yield* act((page) => heading(page, /^Done/))
        yield* examine("done")
        yield* act((page) => page.getByLabel("Show").selectOption("Not checked"))
        yield* act((page) => page.locator(".table").scrollIntoViewIfNeeded())
        yield* examine("failures")
        yield* act((page) => page.getByLabel("Filter by address").fill("none of them"))
        yield* act((page) => page.getByText("No address matches the filter.").waitFor())
        yield* examine("no match")
        yield* act(edit)
        yield* act((page) => page.getByRole("button", { name: "Clear" }).click())
        yield* act((page) => page.getByLabel("Domains or pages").fill(others.join("\n")))
        yield* act(start)
        yield* act((page) =>
          page.getByRole("button", { name: "Check, at most 60 credits" }).waitFor(),
        )
        yield* examine("balance")
        yield* act((page) =>
          page.getByRole("button", { name: "Check, at most 60 credits" }).click(),
        )
        yield* act((page) => page.getByText("Out of credits.").waitFor())
        yield* examine("out of credits")
        yield* act((page) => page.setViewportSize({ width: 360, height: 740 }))
        assert.strictEqual(yield* act(width), 360)
      }),
    timeout,
  )
})

describe.skipIf(isMissing)("the documentation pages", () => {
  it.scopedLive(
    "the pages of the guide are accessible in both themes and fit the width of a phone",
    () =>
      Effect.gen(function* () {
        const { url } = yield* serve(yield* folder)
        const wide = yield* visit(url, "/docs/guide/operating")
        yield* wide.act((page) => heading(page, "The settings"))
        yield* wide.examine("operating")
        const phone = yield* visit(url, "/docs/guide/operating", {
          viewport: { width: 360, height: 740 },
        })
        assert.strictEqual(
          yield* phone.act((page) => page.evaluate("document.documentElement.scrollWidth")),
          360,
        )
        yield* wide.act((page) => page.getByRole("link", { name: "Console" }).click())
        yield* wide.act((page) => heading(page, "See how strong every site on your list is"))
      }),
    timeout,
  )
})
